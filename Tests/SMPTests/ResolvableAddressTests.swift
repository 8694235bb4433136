import BluetoothCrypto
import BluetoothTypes
import SMP
import Testing

@Suite("Resolvable private addresses")
struct ResolvableAddressTests {
    let key = SecretKey(0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B)

    @Test("An address made with a key resolves with it, and with no other")
    func roundTrip() throws {
        for random: UInt32 in [0, 1, 0x3F_FFFF, 0x1234, 0xFFFF_FFFF] {
            let made = ResolvableAddress(key: key, random: random)
            let parsed = try #require(ResolvableAddress(made.address))
            #expect(parsed.isOf(key))
            #expect(!parsed.isOf(SecretKey(key.value ^ 1)))
            let bits = made.address.value >> 24 & 0x3F_FFFF
            #expect(bits != 0 && bits != 0x3F_FFFF)
        }
    }

    @Test("Other kinds of address are none (Vol 6, Part B, 1.3.2)")
    func otherKinds() {
        #expect(ResolvableAddress(DeviceAddress(0x55AA_331D_2708, kind: .public)) == nil)
        #expect(ResolvableAddress(DeviceAddress(0xC5AA_331D_2708, kind: .random)) == nil)
        #expect(ResolvableAddress(DeviceAddress(0x15AA_331D_2708, kind: .random)) == nil)
    }

    @Test("The identity is found among several; a key of zeros is nobody's")
    func identities() {
        let owner = Identity(address: DeviceAddress(0x11), resolvingKey: key)
        let other = Identity(address: DeviceAddress(0x22), resolvingKey: SecretKey(5))
        let nobody = Identity(address: DeviceAddress(0x33), resolvingKey: SecretKey(0))
        let address = ResolvableAddress(key: key, random: 77)
        #expect(address.identity(in: [nobody, other, owner]) == owner.address)
        #expect(address.identity(in: [nobody, other]) == nil)
        #expect(ResolvableAddress(key: SecretKey(0), random: 77).identity(in: [nobody]) == nil)
    }
}
