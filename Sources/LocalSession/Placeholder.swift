// Replaced by the first file of LocalSession.
