"""A Python imports packages from their archive as from folders.

The archive is made here of a small package, and read by this Python instead of that of the program.
"""

import compileall
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts.module_archive import READERS, archive_modules

READ_ALL = """
import sys
sys.path.insert(0, sys.argv[1])
import archived_modules
packages = archived_modules.FOLDER + "/site-packages"
sys.path.append(packages)
import os, pkgutil, traceback
from importlib.resources import as_file, files, read_text

import shop.orders
from shop import mmh3

found = files(shop)
print(shop.__path__ == [os.path.join(packages, "shop")], mmh3.hash("foo"))
print(os.path.relpath(shop.orders.__file__, packages))
print([module.name for module in pkgutil.walk_packages(shop.__path__, "shop.")])
print([path.name for path in found.joinpath("pages").iterdir()])
print((found / "pages" / "first.html").read_text(encoding="utf-8"))
print(read_text("shop", "names.json"), (found / "names.json").is_file(), found.is_dir())
print((found / "no.json").is_file(), (found / "no").is_dir())
with as_file(found / "names.json") as path:
    print(path.read_bytes())
for read in (lambda: read_text("shop", "no.json"), lambda: __import__("shop.no")):
    try:
        read()
    except (FileNotFoundError, ModuleNotFoundError) as error:
        print(type(error).__name__)
try:
    shop.orders.fail()
except ValueError:
    print(traceback.format_exc().splitlines()[-2].strip())
"""
EXPECTED = f"""\
True -156908512
{Path("shop", "orders.pyc")}
['shop.orders']
['first.html']
<p>é</p>
{{"a": 1}} True True
False False
b'{{"a": 1}}'
FileNotFoundError
ModuleNotFoundError
File "orders.py", line 2, in fail
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a folder like that of a standard library, with a package in its site-packages."""
    library = tmp_path / "lib"
    shop = library / "site-packages" / "shop"
    (shop / "pages").mkdir(parents=True)
    (shop / "__init__.py").touch()
    (shop / "orders.py").write_text("def fail():\n    raise ValueError\n")
    (shop / "names.json").write_text('{"a": 1}')
    (shop / "pages" / "first.html").write_text("<p>é</p>", encoding="utf-8")
    extension = importlib.util.find_spec("mmh3")
    assert extension is not None
    assert extension.origin is not None
    shutil.copy(extension.origin, shop)
    for path in READERS.glob("*.py"):
        shutil.copy(path, library)
    compileall.compile_dir(library, quiet=1, legacy=True, stripdir=str(shop))
    for path in library.rglob("*.py"):
        path.unlink()
    return library


def run(*words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-X", "utf8", *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_modules_and_resources_are_read_from_the_archive(library: Path) -> None:
    archive_modules(library, library / "first.zip", [])
    left = [path.name for path in library.joinpath("site-packages").rglob("*.*")]
    assert sorted(name.partition(".")[0] for name in left) == ["archived_modules", "mmh3"]
    assert run("-S", "-c", READ_ALL, library) == EXPECTED


def test_a_program_of_the_packages_finds_them_without_site(library: Path) -> None:
    program = library / "site-packages" / "program.py"
    start = f"import sys\nsys.path += [{str(library)!r}]\n"
    program.write_text(
        "sys.path.append(archived_modules.FOLDER + '/site-packages')\n"
        "import shop.orders\n"
        "print(shop.orders.fail.__name__)\n"
    )
    archive_modules(library, library / "first.zip", [program])
    program.write_text(start + program.read_text())
    assert run("-S", program) == "fail\n"


def test_python_finds_its_folder_and_what_it_needs_before_it_reads_the_archive(
    library: Path, tmp_path: Path
) -> None:
    modules = {"encodings/utf_8.pyc": b"a", "importlib/__init__.pyc": b"b", "os.pyc": b"c"}
    for name, content in modules.items():
        (library / name).parent.mkdir(exist_ok=True)
        (library / name).write_bytes(content)
    (library / "EXTERNALLY-MANAGED").touch()
    digests = set()
    for name in ("first", "second"):
        copy = tmp_path / name
        shutil.copytree(library, copy)
        archive_modules(copy, tmp_path / f"{name}.zip", [])
        for made in (copy / "modules", tmp_path / f"{name}.zip"):
            digests.add(hashlib.sha256(made.read_bytes()).digest())
        left = [path.name for path in copy.iterdir() if path.is_file()]
        assert sorted(left) == ["EXTERNALLY-MANAGED", "archived_modules.pyc", "modules", "os.pyc"]
    assert len(digests) == 2  # the same bytes again
    with zipfile.ZipFile(tmp_path / "first.zip") as archive:
        assert archive.namelist() == ["encodings/utf_8.pyc", "importlib/__init__.pyc"]
    listed = "import sys; sys.path.insert(0, sys.argv[1]); import archived_modules as archive; "
    listed += "print(*sorted(path for path in archive.INDEX if 'site' not in path))"
    found = run("-S", "-c", listed, tmp_path / "first").split()
    assert found == sorted([*modules, "archived_resources.pyc"])
