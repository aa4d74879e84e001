"""The producer of KIP-91: `core.py` decides everything without sockets or clock."""
