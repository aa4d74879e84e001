"""What a Fetch reads: its session, its partitions, and the replica that a client should read."""
