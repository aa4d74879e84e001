"""The admin port: inspect and control the cluster over HTTP.

Operations are plain functions on the cluster (in `clock`, `brokers`, `topics` and so on), each
declared once: routes, checks of what comes in and the OpenAPI document follow from the declaration.
Only `web` knows aiohttp.
"""
