// Replaced by the first file of HCI.
