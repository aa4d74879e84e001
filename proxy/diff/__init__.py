"""The responses of a real cluster beside those of our broker."""
