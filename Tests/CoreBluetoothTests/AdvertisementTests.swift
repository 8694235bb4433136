import BluetoothTypes
import CoreBluetooth
import HostInterface
import Testing

@Suite("The dictionary of didDiscover")
struct AdvertisementTests {
    func dictionary(_ advertising: [UInt8], scanResponse: [UInt8] = [], isConnectable: Bool = true) -> [String: Any] {
        advertisementDictionary(
            Discovery(
                peer: lockAddress, advertisingData: advertising, scanResponseData: scanResponse,
                isConnectable: isConnectable, rssi: -40))
    }

    @Test("Values have the types that apps cast to")
    func types() throws {
        let found = dictionary(
            [2, 0x01, 0x06, 5, 0x03, 0xF0, 0xFF, 0x0A, 0x18, 2, 0x0A, 0xF4, 3, 0x14, 0x0D, 0x18],
            scanResponse: [5, 0x16, 0x0F, 0x18, 0x64, 0x01, 5, 0xFF, 0x4C, 0x00, 0x02, 0x15]
                + nameStructure("KL940704079"))
        #expect(found[CBAdvertisementDataLocalNameKey] as? String == "KL940704079")
        #expect(
            found[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "FFF0"), CBUUID(string: "180A")])
        #expect(found[CBAdvertisementDataTxPowerLevelKey] as? NSNumber == -12)
        #expect(found[CBAdvertisementDataSolicitedServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "180D")])
        let services = try #require(found[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data])
        #expect(services[CBUUID(string: "180F")] == Data([0x64, 0x01]))
        #expect(found[CBAdvertisementDataManufacturerDataKey] as? Data == Data([0x4C, 0x00, 0x02, 0x15]))
        #expect(found[CBAdvertisementDataIsConnectable] as? NSNumber == 1)
        #expect(found[CBAdvertisementDataIsConnectable] as? Bool == true)
        #expect(found[CBAdvertisementDataOverflowServiceUUIDsKey] == nil)
    }

    @Test("B-C8: what does not take connections is reported as such")
    func notConnectable() {
        let found = dictionary([], isConnectable: false)
        #expect(found.count == 1 && found[CBAdvertisementDataIsConnectable] as? Bool == false)
    }

    @Test("A complete name wins over a shortened one, wherever they stand")
    func shortenedName() {
        #expect(dictionary([3, 0x08, 0x4B, 0x4C])[CBAdvertisementDataLocalNameKey] as? String == "KL")
        let both = dictionary([3, 0x08, 0x4B, 0x4C], scanResponse: nameStructure("KL94"))
        #expect(both[CBAdvertisementDataLocalNameKey] as? String == "KL94")
    }

    @Test("The whole UUIDs of a list count, whatever is left over behind them")
    func oddList() {
        let found = dictionary([4, 0x03, 0xF0, 0xFF, 0x00])
        #expect(found[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "FFF0")])
    }

    @Test(
        "Damaged structures neither trap nor invent anything",
        arguments: [
            [] as [UInt8], [0], [0, 3, 0x09, 0x41, 0x42], [5, 0x03, 0xF0], [1, 0x16],
            [2, 0x16, 0x0F], [2, 0xFF, 0x4C], [1, 0x0A], [3, 0x0A, 0x01, 0x02], [0xFF], [1, 0x06], [3, 0x07, 1, 2],
        ])
    func damaged(octets: [UInt8]) {
        #expect(dictionary(octets).count == 1)
    }
}
