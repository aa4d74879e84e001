"""Streams groups (KIP-1071): their topology, its internal topics, and the tasks of their members.

`membership` has the heartbeats and the timers, `heartbeat` decides what one changes in a `group`,
`configured_topology` computes the internal topics, `sticky_assignor` the target assignment, and
`reconciliation` moves a member towards it.
"""
