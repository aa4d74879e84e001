"""The client atlas: what client libraries do with everything that a broker can answer.

A situation (`situations/`) is a cluster with faults and a workload. An adapter (`adapters/`) is a
small program that runs the commands of a workload with one client library. `lane.py` runs one
experiment after another, and `data_verdict.py`, `manners.py` and `cell.py` judge what was seen.
"""
