"""The admin port: the cluster looked at and moved over HTTP, for tests in any language and people.

Operations are plain functions on the cluster (`clock`, `brokers`, `topics` and so on), each declared
once: routes, checks of what comes in and the OpenAPI document all follow from the declaration.
Only `web` and `follow` know aiohttp.
"""
