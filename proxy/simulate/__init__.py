"""Our broker with a recorded world, which refuses what the record never had."""
