"""Experiments with clients and a cluster of ours: each prints a table and draws pictures.

A new one is a module with `run(out)` and a line in `registry.py`. `lab_cluster.py` is a broker
that can be told what goes wrong, `table.py` and `picture.py` show what came of it.
"""
