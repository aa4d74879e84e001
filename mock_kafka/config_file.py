"""A broker's configuration in a temporary file, because everybody can read command lines."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mock_kafka.temporary_folder import temporary_folder

_SPECIAL = re.compile(r"[\\=:#!\s]")


@contextmanager
def config_file(config: Mapping[str, str]) -> Iterator[Path]:
    """Provide a properties file during a block, in a folder that only its owner can open."""
    with temporary_folder() as folder:
        path = Path(folder) / "server.properties"
        lines = [f"{_escaped(key)}={_escaped(value)}\n" for key, value in config.items()]
        path.write_text("".join(lines), encoding="utf-8")
        yield path


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
