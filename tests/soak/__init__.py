"""Real clients of several languages on one cluster for a long time, with faults."""
