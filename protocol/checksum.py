"""CRC-32C, the checksum of record batches: `crc32c(data)` returns it as an integer.

fastcrc calls the algorithm `iscsi` (RFC 3720). It takes a memoryview without a copy.
"""

from fastcrc.crc32 import iscsi as crc32c

__all__ = ["crc32c"]
