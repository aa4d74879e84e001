"""Adapters: small programs that run commands with one client library (docs/atlas.md).

`adapter.py` reads the commands and writes the events for those in Python.
"""
