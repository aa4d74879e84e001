"""The partition of a key is the one that other clients choose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_python_murmur2

from protocol.partition_hash import murmur2, partition_for_key


@pytest.mark.parametrize(
    ("data", "signed"),
    [  # Kafka's UtilsTest.testMurmur2
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hashes_are_those_of_the_java_client(data: bytes, signed: int) -> None:
    assert murmur2(data) == signed % 2**32


@given(st.binary(max_size=64))
def test_hashes_are_those_of_kafka_python(data: bytes) -> None:
    assert murmur2(data) == kafka_python_murmur2(data)


@given(st.binary(max_size=64), st.integers(1, 1_000))
def test_the_partition_of_a_key_exists(key: bytes, partition_count: int) -> None:
    assert 0 <= partition_for_key(key, partition_count) < partition_count
