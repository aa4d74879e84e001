"""The state of the cluster and the operations that keep its invariants."""
