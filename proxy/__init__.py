"""`mock-kafka proxy` and `mock-kafka record`: what stands before a real cluster, or copies it."""
