"""Share groups (KIP-932): records with acquisition locks, share sessions, members and their state.

Nothing here knows sockets, the clock, messages or logs: integers, strings and `now_ms` in,
decisions out.
"""
