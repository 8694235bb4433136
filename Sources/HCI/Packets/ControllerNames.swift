/// What the numbers of Read Local Version Information mean.
package enum ControllerNames {
    /// The Bluetooth version of an HCI version. Assigned Numbers, 2.1.
    package static func bluetoothVersion(_ number: UInt8) -> String {
        let versions = [
            "1.0b", "1.1", "1.2", "2.0", "2.1", "3.0", "4.0", "4.1", "4.2", "5.0", "5.1", "5.2", "5.3", "5.4", "6.0",
            "6.1",
        ]
        return Int(number) < versions.count ? versions[Int(number)] : "unknown (\(number))"
    }

    /// Who made a controller, for the companies that make many. Assigned Numbers, 7.1 (company identifiers).
    package static func manufacturer(_ number: UInt16) -> String? {
        switch number {
        case 0x0002: "Intel"
        case 0x000A: "Qualcomm Technologies International (CSR)"
        case 0x000D: "Texas Instruments"
        case 0x000F: "Broadcom"
        case 0x001D: "Qualcomm"
        case 0x0030: "ST Microelectronics"
        case 0x0046: "MediaTek"
        case 0x0048: "Marvell"
        case 0x004C: "Apple"
        case 0x0059: "Nordic Semiconductor"
        case 0x005D: "Realtek Semiconductor"
        case 0x0060: "RivieraWaves"
        case 0x0131: "Cypress Semiconductor"
        case 0x02E5: "Espressif"
        case 0x02FF: "Silicon Laboratories"
        case 0x05F1: "The Linux Foundation"
        default: nil
        }
    }
}
