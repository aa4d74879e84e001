"""One client connection without I/O, and the path of one request through it."""
