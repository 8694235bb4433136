// Replaced by the first file of GAP.
