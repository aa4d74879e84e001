"""The checksum is CRC-32C."""

from protocol.checksum import crc32c


def test_the_checksum_of_the_digits_is_that_of_rfc_3720() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(memoryview(bytearray(32))) == 0x8A9136AA
