// Replaced by the first file of LinkLayer.
