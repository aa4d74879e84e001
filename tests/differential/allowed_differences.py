"""The fields in which our broker may differ from Apache Kafka, each with its reason.

`python -m scripts.compatibility_table` writes this list into docs/compatibility.md. What only has
another name in each cluster (ids, hosts, times) is in `canonical.py`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AllowedDifference:
    """A field of an API's response; `*` stands for any text in both names.

    `kind` limits it to entries that are `missing`, `extra` or in another `order`.
    """

    api: str
    path: str
    reason: str
    kind: str = ""


ALLOWED_DIFFERENCES: tuple[AllowedDifference, ...] = (
    AllowedDifference(
        "DescribeLogDirs", "results[].total_bytes", "the size of the machine's disk; -1 here"
    ),
    AllowedDifference(
        "DescribeLogDirs", "results[].usable_bytes", "the free space of the machine's disk; -1 here"
    ),
)
