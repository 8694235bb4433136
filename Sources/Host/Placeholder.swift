// Replaced by the first file of Host.
