"""Groups of the consumer protocol (KIP-848), whose partitions the coordinator assigns.

A member sends ConsumerGroupHeartbeat. `heartbeat` joins it, updates it or lets it leave; `group`
has the state of a group; `reconciliation` moves one member towards its target assignment; the
assignors compute the targets of all members.
"""
