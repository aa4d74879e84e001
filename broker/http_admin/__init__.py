"""The admin port: inspect and control the cluster over HTTP.

Operations are functions on the cluster (in `clock`, `brokers`, `topics` and so on). Each is
declared once. Routes, input checks and the OpenAPI document are derived from the declaration. Only
`web` knows aiohttp.
"""
