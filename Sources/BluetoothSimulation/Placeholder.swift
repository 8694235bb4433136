// Replaced by the first file of BluetoothSimulation.
