// Replaced by the first file of HCITransport.
