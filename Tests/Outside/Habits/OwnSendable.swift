// Sources made for Apple's SDK add this themselves, where Apple's classes are not Sendable.
import CoreBluetooth

extension CBCentralManager: @unchecked @retroactive Sendable {}
extension CBPeripheral: @retroactive @unchecked Sendable {}
