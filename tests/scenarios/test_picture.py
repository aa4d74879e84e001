import sys
from pathlib import Path

import pytest

from scenarios.picture import MissingLibraryError, require_matplotlib, save


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingLibraryError, match=r"pip install matplotlib$"):
        require_matplotlib()


def test_a_picture_is_written_into_a_folder_that_need_not_be_there(tmp_path: Path) -> None:
    figure = require_matplotlib()(figsize=(1, 1))
    path = save(figure, tmp_path / "new" / "folder", "empty")
    assert path.name == "empty.svg"
    assert path.read_text().startswith("<?xml")
