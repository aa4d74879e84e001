"""Find how far a load can be raised until a promise or an objective breaks."""
