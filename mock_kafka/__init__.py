"""The door users enter by."""
