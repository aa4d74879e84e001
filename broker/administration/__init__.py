"""Checks and changes of administration requests, without messages."""
