// Replaced by the first file of L2CAP.
