"""Experiments with clients and a mock-kafka cluster: each prints a table and draws pictures.

A new one is a module with `run(out)` and a line in `registry.py`. `table.py` and `picture.py` show
the results. `clients/` wraps the real client libraries.
"""
