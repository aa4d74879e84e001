"""Make a plan of recorded traffic, and say how well it fits."""
