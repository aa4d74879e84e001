"""Recorded traffic: one row per request that a cluster has received."""
