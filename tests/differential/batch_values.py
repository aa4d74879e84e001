"""Record batches of Produce requests, sound and damaged, and how topics store them."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.differential.values import TOPIC

DAMAGE: tuple[dict[str, Any], ...] = (
    *({"damaged_record": position} for position in (0, 1, 2, 3, 4, 5, 7, -1, -2, 12)),
    *({"damaged_payload": position} for position in (0, 1, 3, 4, 8, 10, 12, 17, 20, -1, -4, -8)),
    {"header": {"max_timestamp": 5}},
    {"header": {"max_timestamp": "now-9000"}},
    {"header": {"base_timestamp": 7}},
    {"header": {"base_timestamp": -1}},
    {"header": {"attributes": 8}},
    {"header": {"attributes": 9}},
    {"header": {"attributes": 12}},
    {"header": {"attributes": 8, "max_timestamp": -1}},
    {"header": {"attributes": 5}},
    {"header": {"attributes": 4}},
    {"header": {"attributes": 16}},
    {"header": {"records_count": 2, "last_offset_delta": 1}},
    {"header": {"records_count": 1, "last_offset_delta": 0}},
    {"header": {"records_count": 2}},
)
"""What may be wrong with a batch whose CRC is right."""


@st.composite
def batches(draw: st.DrawFn) -> dict[str, Any] | None:
    """Return the argument of a field of records."""
    kind = draw(
        st.sampled_from(
            ("one", "one", "one", "idempotent", "two", "flipped", "none", "empty")
            + ("damaged",) * 4
        )
    )
    if kind == "none":
        return None
    if kind == "empty":
        return {"hex": ""}
    batch: dict[str, Any] = {
        "records": draw(
            st.lists(
                st.sampled_from((["k", "v"], [None, "v"], ["k", None], ["k2", "v{200}"])),
                min_size=1,
                max_size=3,
            )
        )
    }
    compression = draw(st.sampled_from(("none", "none", "gzip", "snappy", "lz4", "zstd")))
    if compression != "none":
        batch["compression"] = compression
    timestamp = draw(st.sampled_from(("now+0", "now+1", "now-5000", "now+7200000", -1)))
    if timestamp != "now+0":
        batch["timestamp"] = timestamp
    if kind == "idempotent":
        batch["producer_id"] = draw(st.sampled_from(("producer_id#0", "producer_id#0", 7_000_001)))
        batch["producer_epoch"] = draw(st.sampled_from((0, 0, 0, 1, -1)))
        batch["base_sequence"] = draw(st.sampled_from((0, 0, 1, 2, 3, 5, -1)))
    if kind == "damaged":
        batch |= draw(st.sampled_from(DAMAGE))
    if kind == "flipped":
        batch["flip"] = draw(st.sampled_from((17, 16, 22, 23, 60, 61, 8, 57, 26)))
    return {"batches": [batch, batch] if kind == "two" else [batch]}


STORED_FORM: Mapping[str, tuple[str, ...]] = {
    "compression.type": ("gzip", "snappy", "lz4", "zstd", "uncompressed", "uncompressed"),
    "message.timestamp.type": ("LogAppendTime",),
    "message.timestamp.before.max.ms": ("1000",),
    "cleanup.policy": ("compact",),
    "max.message.bytes": ("90", "130", "200"),
    "max.decompressed.message.bytes": ("8", "100"),
}


@st.composite
def stored_form(draw: st.DrawFn) -> dict[str, Any]:
    """Return an alteration of how a topic stores and checks batches."""
    keys = ["compression.type", *draw(st.lists(st.sampled_from(sorted(STORED_FORM)), max_size=2))]
    configs = [
        {"name": key, "config_operation": 0, "value": draw(st.sampled_from(STORED_FORM[key]))}
        for key in sorted(set(keys))
    ]
    return {"resource_type": TOPIC, "resource_name": "~a", "configs": configs}
