"""Recorded worlds: what a Kafka cluster has, and what was asked of it, as one document."""
