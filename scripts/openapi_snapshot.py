"""Write clients/openapi.json, the description of the admin port that clients are generated from.

python -m scripts.openapi_snapshot           write it
python -m scripts.openapi_snapshot --check   exit 1 when it is stale
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

from broker.http_admin import web  # noqa: F401 - declares all operations
from broker.http_admin.openapi import openapi_document
from broker.http_admin.operation import OPERATIONS
from scripts.generated_page import write_or_check

TARGET = Path(__file__).parent.parent / "clients" / "openapi.json"


def render() -> str:
    """Return the document as indented JSON."""
    # Tests import the modules of operations in other orders.
    operations = sorted(OPERATIONS, key=lambda op: (op.path, op.method))
    document = openapi_document(operations, version("mock-kafka"))
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write or check the document."""
    return write_or_check(TARGET, render(), "scripts.openapi_snapshot")


if __name__ == "__main__":
    sys.exit(main())
