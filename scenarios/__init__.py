"""Experiments with clients and a cluster of ours: each prints a table and draws pictures.

A new one is a module with `run(out)` and a line in `registry.py`. `table.py` and `picture.py` show
what came of it.
"""
