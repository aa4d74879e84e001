"""A table as plain text."""

from collections.abc import Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as their widest cell, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in [header, *cells]) for index in range(len(header))]
    is_number = [
        bool(rows) and all(isinstance(row[index], int | float) for row in rows)
        for index in range(len(header))
    ]

    def line(row: Sequence[str]) -> str:
        return "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, cells)])
