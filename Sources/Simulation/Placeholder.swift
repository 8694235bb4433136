// Replaced by the first file of Simulation.
