"""matplotlib, which is there only with the extra `reports`."""

from pathlib import Path
from typing import Any

from mock_kafka.missing_requirements import explanation


class MissingLibraryError(Exception):
    """A picture was asked for and can't be drawn; the message says what to install."""


def require_matplotlib() -> Any:
    """Matplotlib's `Figure` class, drawing to files without a screen.

    Raises:
        MissingLibraryError: it is not installed.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load, and perhaps not there
    except ImportError as error:
        missing = explanation("reports") or "matplotlib: pip install matplotlib"
        raise MissingLibraryError(f"pictures need {missing}") from error
    return Figure


def save(figure: Any, folder: Path, name: str) -> Path:
    """Write a figure as SVG; returns where."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None})
    return path
