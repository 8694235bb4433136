import Foundation
import Testing
import TwoRoles
import WhichLock

/// The small functions that the tutorials are about.
@Suite("Tutorials")
struct TutorialTests {
    // Row D2: bytes 7, 6, 5, 2, 1, 0; 3 and 4 are the filler.
    @Test("A System ID gives an address")
    func systemID() {
        let value = Data([0xFF, 0xEE, 0xDD, 0xFE, 0xFF, 0xCC, 0xBB, 0xAA])
        #expect(WhichLock.address(inSystemID: value) == "AA:BB:CC:DD:EE:FF")
        #expect(WhichLock.address(inSystemID: value.dropLast()) == nil)
        // A slice counts its bytes from elsewhere.
        #expect(WhichLock.address(inSystemID: (Data([0]) + value).dropFirst()) == "AA:BB:CC:DD:EE:FF")
    }

    // Row B4.
    @Test("Manufacturer data gives an address")
    func manufacturerData() {
        let data = Data([0xFF, 0xFF, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0x0F])
        #expect(CentralRole.address(inManufacturerData: data) == "AA:BB:CC:DD:EE:0F")
        #expect(CentralRole.address(inManufacturerData: Data([0x4C, 0x00, 0x02, 0x15])) == nil)
    }
}
