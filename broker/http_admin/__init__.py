"""The admin port: the cluster looked at and moved over HTTP, by tests in any language and people.

Operations are plain functions on the cluster (in `clock`, `brokers`, `topics` and so on), each
declared once: routes, checks of what comes in and the OpenAPI document follow from the declaration.
Only `web` knows aiohttp.
"""
