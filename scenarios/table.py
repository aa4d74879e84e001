"""A table as plain text."""

from collections.abc import Sequence
from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table with one line for each row; columns of numbers are aligned to the right."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, name in enumerate(header):
        is_number = bool(rows) and all(isinstance(row[index], int | float) for row in rows)
        table.add_column(Text(name), no_wrap=True, justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    out = StringIO()
    # A pipe has no width: do not wrap.
    Console(file=out, width=1000, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
