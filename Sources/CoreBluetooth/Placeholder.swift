// Replaced by the first file of CoreBluetooth.
