import BluetoothTypes
import EventLoop
import Foundation
import GAP
import HCI
import ProtocolTestKit
import Testing

@Suite("Advertising data — Core Specification Supplement 12, Part A, 1")
struct AdvertisingDataTests {
    @Test("The collection of advertisements as found in the field", arguments: try vectors())
    func fieldCollection(vector: AdvertisementVector) throws {
        let expected = vector.expected
        var data = AdvertisingData()
        for part in vector.parts ?? [vector.ad_payload] { data.add(octets(part)[...]) }
        #expect(data.flags == expected.flags)
        #expect(data.localName == expected.local_name)
        if let isComplete = expected.name_complete { #expect(data.isNameComplete == isComplete) }
        #expect(data.services == expected.service_uuids.map(uuid))
        #expect(data.solicitedServices == expected.solicited_uuids.map(uuid))
        #expect(data.serviceData == expected.service_data.map { .init(service: uuid($0.key), data: octets($0.data)) })
        #expect(
            data.manufacturerData
                == expected.manufacturer_data.map { .init(company: UInt16($0.key), data: octets($0.data)) })
        #expect(data.txPowerLevel == expected.tx_power)
        #expect(data.appearance == expected.appearance)
        #expect(
            data.others == expected.other.map { .init(type: .init(rawValue: UInt8($0.key)), data: octets($0.data)) })
        #expect(data.malformed == expected.malformed)
    }

    @Test("The collection's legacy reports", arguments: try vectors().filter { $0.report == "legacy" })
    func legacyReports(vector: AdvertisementVector) throws {
        guard let packet = vector.hci_event,
            case .leEvent(.advertisingReport, let parameters) = try HCIPacket(octets(packet))
        else {
            Issue.record("no LE Advertising Report")
            return
        }
        let reports = Array(AdvertisingReports(parameters: parameters))
        #expect(reports.count == 1)
        #expect(reports.first?.data.elementsEqual(octets(vector.ad_payload)) == true)
        #expect(reports.first?.rssi == vector.rssi)
        #expect(reports.first?.address.description == vector.address)
        #expect(reports.first?.eventType.rawValue == vector.event_type)
    }

    @Test("A shortened name never replaces a complete one")
    func names() {
        let data = AdvertisingData(advertisement: hex("03 09 41 42"), scanResponse: hex("02 08 43"))
        #expect(data.localName == "AB")
        #expect(data.isNameComplete)
    }

    @Test("CoreBluetooth's form of manufacturer data has the company in front")
    func manufacturer() {
        let data = AdvertisingData(octets: hex("05 FF 4C 00 AA BB"))
        #expect(data.manufacturerData.first?.octets == hex("4C 00 AA BB"))
    }

    @Test("No octets at all, and no octets that trap")
    func hostile() {
        #expect(AdvertisingData(octets: []) == AdvertisingData())
        var generator = SeededGenerator(seed: 1)
        for length in 0..<256 {
            _ = AdvertisingData(octets: (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }
    }
}

@Suite("Layout of legacy advertising — Core 6.0, Vol 3, Part C, 11")
struct AdvertisingLayoutTests {
    @Test("GAP/ADV/BV-01-C, GAP/ADV/BV-02-C, GAP/ADV/BV-03-C: flags, services, then the name")
    func small() {
        let layout = AdvertisingLayout(localName: "Lock", services: [.uuid16(0x180F), .uuid16(0x180A)])
        #expect(layout.advertisingData == hex("02 01 06 05 03 0F 18 0A 18 05 09 4C 6F 63 6B"))
        #expect(layout.scanResponseData.isEmpty)
        #expect(layout.omittedServices.isEmpty && !layout.isNameShortened)
    }

    @Test("GAP/ADV/BV-04-C: manufacturer data, the company in front")
    func manufacturerData() {
        let layout = AdvertisingLayout(manufacturerData: [0xFF, 0xFF, 1, 2])
        #expect(layout.advertisingData == hex("02 01 06 05 FF FF FF 01 02"))
        #expect(layout.scanResponseData.isEmpty && !layout.isManufacturerDataOmitted)
    }

    @Test("GAP/ADV/BV-10-C: service data, the service in front, by the width of its UUID")
    func serviceData() {
        let short = AdvertisingLayout(serviceData: .init(service: .uuid16(0x180F), data: [0x64]))
        #expect(short.advertisingData == hex("02 01 06 04 16 0F 18 64"))
        let long = AdvertisingLayout(serviceData: .init(service: .uuid128(1), data: [0x64]))
        #expect(long.advertisingData == hex("02 01 06 12 21 01" + String(repeating: " 00", count: 15) + " 64"))
        #expect(!short.isServiceDataOmitted && !long.isServiceDataOmitted)
    }

    @Test("28 octets hold one long UUID and four short ones; the fifth is left out, and the list says so")
    func omitted() {
        let long = BluetoothUUID.uuid128(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10)
        let short = (0..<5).map { BluetoothUUID.uuid16(0x1800 + $0) }
        let layout = AdvertisingLayout(services: [long] + short)
        #expect(
            layout.advertisingData
                == hex("02 01 06 11 07 10 0F 0E 0D 0C 0B 0A 09 08 07 06 05 04 03 02 01")
                + hex("09 02 00 18 01 18 02 18 03 18"))
        #expect(layout.advertisingData.count == 31)
        #expect(layout.omittedServices == [short[4]])
    }

    @Test("A second long UUID does not fit, but the short one behind it does")
    func laterOneFits() {
        let layout = AdvertisingLayout(services: [.uuid128(1), .uuid128(2), .uuid16(0x180F)])
        #expect(layout.omittedServices == [.uuid128(2)])
        #expect(AdvertisingData(octets: layout.advertisingData).services == [.uuid128(1), .uuid16(0x180F)])
        #expect(layout.advertisingData[4] == AdvertisingDataType.incompleteServices128.rawValue)
    }

    @Test("A name that does not fit moves to the scan response", arguments: [(8, false), (9, true), (29, true)])
    func nameMoves(length: Int, moves: Bool) {
        let name = String(repeating: "n", count: length)
        let layout = AdvertisingLayout(localName: name, services: [.uuid128(1)])
        #expect(layout.scanResponseData.isEmpty == !moves)
        #expect(!layout.isNameShortened)
        let data = AdvertisingData(advertisement: layout.advertisingData, scanResponse: layout.scanResponseData)
        #expect(data.localName == name && data.isNameComplete)
    }

    @Test("A name that fits nowhere is cut between two characters")
    func nameIsCut() {
        let layout = AdvertisingLayout(localName: "x" + String(repeating: "ä", count: 20))
        #expect(layout.isNameShortened)
        #expect(layout.scanResponseData.count == 31)
        let data = AdvertisingData(octets: layout.scanResponseData)
        #expect(data.localName == "x" + String(repeating: "ä", count: 14))
        #expect(!data.isNameComplete)

        let even = AdvertisingLayout(localName: String(repeating: "ä", count: 20))
        #expect(even.scanResponseData.count == 30)
    }

    @Test("Nothing to say is still flags")
    func empty() {
        let layout = AdvertisingLayout()
        #expect(layout.advertisingData == hex("02 01 06"))
        #expect(layout.scanResponseData.isEmpty)
    }
}

struct AdvertisementVector: Decodable, Sendable, CustomTestStringConvertible {
    /// Two values in a JSON array: a number or a UUID, and octets in hex.
    struct Pair<Key: Decodable & Sendable>: Decodable, Sendable {
        var key: Key
        var data: String

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            key = try container.decode(Key.self)
            data = try container.decode(String.self)
        }
    }

    struct Expected: Decodable, Sendable {
        var flags: UInt8?
        var local_name: String?
        var name_complete: Bool?
        var service_uuids: [String]
        var solicited_uuids: [String]
        var service_data: [Pair<String>]
        var manufacturer_data: [Pair<Int>]
        var tx_power: Int8?
        var appearance: UInt16?
        var other: [Pair<Int>]
        var malformed: String?
    }

    var id: String
    var ad_payload: String
    var parts: [String]?
    var report: String?
    var hci_event: String?
    var event_type: UInt8?
    var address: String?
    var rssi: Int8?
    var expected: Expected
    var testDescription: String { id }
}

private func vectors() throws -> [AdvertisementVector] {
    struct File: Decodable { var advertisements: [AdvertisementVector] }
    let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Vectors/advertisements.json")
    return try JSONDecoder().decode(File.self, from: Data(contentsOf: url)).advertisements
}

private func octets(_ text: String) -> [UInt8] {
    let digits = Array(text)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16)! }
}

private func uuid(_ text: String) -> BluetoothUUID {
    BluetoothUUID(octets: octets(text.replacing("-", with: "")).reversed()[...])!
}
