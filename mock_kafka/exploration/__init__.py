"""Draw schedules of disturbances, run them against a program, and shrink those that break it."""
