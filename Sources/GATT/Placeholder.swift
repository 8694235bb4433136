// Replaced by the first file of GATT.
