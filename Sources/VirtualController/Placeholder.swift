// Replaced by the first file of VirtualController.
