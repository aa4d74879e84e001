"""Simulate clients and brokers in virtual time, without sockets: `python -m tests.simulation`."""
