"""Bytes and messages: frames, schemas, error codes, record batches. No broker, no time, no I/O."""
