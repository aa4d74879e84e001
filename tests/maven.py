"""Jars from Maven Central, fetched as the scenarios fetch them."""

from scenarios.maven import CACHE, CannotRunError, fetch_jars

__all__ = ["CACHE", "CannotRunError", "fetch_jars"]
