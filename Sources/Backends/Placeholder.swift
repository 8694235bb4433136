// Replaced by the first file of Backends.
