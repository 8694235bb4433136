// MARK: - Error domains

/// The domain of ``CBError``.
public let CBErrorDomain = "CBErrorDomain"
/// The domain of ``CBATTError``.
public let CBATTErrorDomain = "CBATTErrorDomain"

// MARK: - Advertisement data

/// `String`: the local name that the advertisement carries.
public let CBAdvertisementDataLocalNameKey = "kCBAdvDataLocalName"
/// `NSNumber`: the transmit power in dBm.
public let CBAdvertisementDataTxPowerLevelKey = "kCBAdvDataTxPowerLevel"
/// `[CBUUID]`: the services that the advertisement lists.
public let CBAdvertisementDataServiceUUIDsKey = "kCBAdvDataServiceUUIDs"
/// `[CBUUID: Data]`: data by service.
public let CBAdvertisementDataServiceDataKey = "kCBAdvDataServiceData"
/// `Data`: company identifier (2 octets, little-endian), then what that company puts there.
public let CBAdvertisementDataManufacturerDataKey = "kCBAdvDataManufacturerData"
/// `[CBUUID]`: services of the scan's filter that an app in the background may be advertising in its overflow area.
/// Between the phones of a simulated world only: which bit of the area a service sets is Apple's secret.
public let CBAdvertisementDataOverflowServiceUUIDsKey = "kCBAdvDataHashedServiceUUIDs"
/// `NSNumber` with a `Bool`: whether the advertiser takes connections right now.
public let CBAdvertisementDataIsConnectable = "kCBAdvDataIsConnectable"
/// `[CBUUID]`: services that the advertiser looks for in others.
public let CBAdvertisementDataSolicitedServiceUUIDsKey = "kCBAdvDataSolicitedServiceUUIDs"

// MARK: - Central manager

/// `NSNumber` with a `Bool`: accepted; there is no alert to show.
public let CBCentralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// `String`: accepted; nothing is restored yet.
public let CBCentralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"
/// `NSNumber` with a `Bool`: accepted and ignored.
public let CBCentralManagerOptionDeviceAccessForMedia = "kCBInitOptionDeviceAccessForMedia"
/// `NSNumber` with a `Bool`: report every packet. Without it a device is reported once, and again when there is
/// something new about it.
public let CBCentralManagerScanOptionAllowDuplicatesKey = "kCBScanOptionAllowDuplicates"
/// `[CBUUID]`: report also devices that solicit one of these services.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey = "kCBScanOptionSolicitedServiceUUIDs"
/// `[CBPeripheral]` in the dictionary of `willRestoreState`.
public let CBCentralManagerRestoredStatePeripheralsKey = "kCBRestoredPeripherals"
/// `[CBUUID]` in the dictionary of `willRestoreState`.
public let CBCentralManagerRestoredStateScanServicesKey = "kCBRestoredScanServices"
/// `[String: Any]` in the dictionary of `willRestoreState`.
public let CBCentralManagerRestoredStateScanOptionsKey = "kCBRestoredScanOptions"

// MARK: - Connecting

/// `NSNumber` with a `Bool`: accepted; there is no alert to show.
public let CBConnectPeripheralOptionNotifyOnConnectionKey = "kCBConnectOptionNotifyOnConnection"
/// `NSNumber` with a `Bool`: accepted; there is no alert to show.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey = "kCBConnectOptionNotifyOnDisconnection"
/// `NSNumber` with a `Bool`: accepted; there is no alert to show.
public let CBConnectPeripheralOptionNotifyOnNotificationKey = "kCBConnectOptionNotifyOnNotification"
/// `NSNumber`: seconds to wait before the attempt begins.
public let CBConnectPeripheralOptionStartDelayKey = "kCBConnectOptionStartDelay"
/// `NSNumber` with a `Bool`: accepted and ignored; this radio is Low Energy only.
public let CBConnectPeripheralOptionEnableTransportBridgingKey = "kCBConnectOptionEnableTransportBridging"
/// `NSNumber` with a `Bool`: accepted and ignored; only an Apple phone has that service.
public let CBConnectPeripheralOptionRequiresANCS = "kCBConnectOptionRequiresANCS"
/// `NSNumber` with a `Bool`: connect again by itself whenever the link is lost, until the app cancels.
public let CBConnectPeripheralOptionEnableAutoReconnect = "kCBConnectOptionEnableAutoReconnect"

// MARK: - Peripheral manager

/// `NSNumber` with a `Bool`: accepted; there is no alert to show.
public let CBPeripheralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// `String`: accepted; nothing is restored yet.
public let CBPeripheralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"
/// `[CBMutableService]` in the dictionary of `willRestoreState`.
public let CBPeripheralManagerRestoredStateServicesKey = "kCBRestoredServices"
/// `[String: Any]` in the dictionary of `willRestoreState`.
public let CBPeripheralManagerRestoredStateAdvertisementDataKey = "kCBRestoredAdvertisement"

// MARK: - UUIDs as text

/// Characteristic Extended Properties; the descriptor's value is an `NSNumber`.
public let CBUUIDCharacteristicExtendedPropertiesString = "2900"
/// Characteristic User Description; the descriptor's value is a `String`.
public let CBUUIDCharacteristicUserDescriptionString = "2901"
/// Client Characteristic Configuration; the descriptor's value is an `NSNumber`.
public let CBUUIDClientCharacteristicConfigurationString = "2902"
/// Server Characteristic Configuration; the descriptor's value is an `NSNumber`.
public let CBUUIDServerCharacteristicConfigurationString = "2903"
/// Characteristic Presentation Format; the descriptor's value is `Data`.
public let CBUUIDCharacteristicFormatString = "2904"
/// Characteristic Aggregate Format; the descriptor's value is `Data`.
public let CBUUIDCharacteristicAggregateFormatString = "2905"
/// Valid Range; the descriptor's value is `Data`.
public let CBUUIDCharacteristicValidRangeString = "2906"
/// Observation Schedule; the descriptor's value is `Data`.
public let CBUUIDCharacteristicObservationScheduleString = "2910"
/// A characteristic whose value is the PSM of an L2CAP channel: `UInt16`, little-endian.
public let CBUUIDL2CAPPSMCharacteristicString = "ABDD3056-28FA-441D-A470-55A75A52553A"
