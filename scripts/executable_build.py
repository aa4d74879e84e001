"""Build mock-kafka as one file for this system: `scripts/executable`.

The file is a small program (`scripts/launcher`) around a compressed archive with Python, the
packages of `requirements/executable.txt` and mock-kafka (ADR 40). The same checkout gives the same
bytes, wherever it is built, as far as the Rust toolchain is the same.
"""

import argparse
import hashlib
import io
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import zstandard

from scenarios.maven import fetch_jars
from scripts.module_archive import READERS, archive_modules

REPOSITORY = Path(__file__).resolve().parent.parent
LAUNCHER = REPOSITORY / "scripts" / "launcher"
PROGRAM = "mock-kafka.py"
PYTHON_JAR = "org.bytedeco:cpython:3.14.3-1.5.13"
"""CPython for all systems, with everything that it links but libz; its folder can be moved."""

COMPRESSION_LEVEL = 12
"""A tenth larger than with level 19, in a tenth of the time."""
WINDOW_LOG = 27
"""Both modules of OpenSSL are in one window, and most of the second is a repetition."""


@dataclass(frozen=True)
class System:
    name: str
    """In the name of the result."""
    classifier: str
    """In the name of the jar with Python."""
    jar_sha256: str
    python: str = "bin/python3.14"
    library: str = "lib/python3.14"
    first_modules: str = "lib/python314.zip"
    """The zip file that Python imports from first."""
    suffix: str = ""
    left_out: tuple[str, ...] = ()
    """Starts of names of modules that need what only the machine had that built this Python."""


SYSTEMS = {
    ("linux", "x86_64"): System(
        "linux-x86_64",
        "linux-x86_64",
        "eb5f1a6fe2dc498ac18927189a37f28a47b0ba06ae6bd85112eff023fe2eb46f",
    ),
    ("linux", "aarch64"): System(
        "linux-arm64",
        "linux-arm64",
        "75d0ac8f457bdb2d6b684796c282ce4da1e0c377a02b954de2c718f80901a15f",
    ),
    ("darwin", "arm64"): System(
        "macos-arm64",
        "macosx-arm64",
        "49a3055dc8f182744736f0c832f7637f0d515da7830b2049fa7da9f86220dbb1",
        left_out=("_decimal",),
    ),
    ("win32", "AMD64"): System(
        "windows-x86_64",
        "windows-x86_64",
        "3291bf3d8f405335ac21dbe55780521fdfd295b0f9f43f7e6e8c55bedd709cb3",
        python="python.exe",
        library="lib",
        first_modules="python314.zip",
        suffix=".exe",
    ),
}
"""By `sys.platform` and machine. macOS on x86_64 is missing: cryptography has no wheel for it."""

LEFT_OUT = {
    "__phello__",
    "__pycache__",
    "_pyrepl",
    "curses",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "pip",
    "pydoc_data",
    "site-packages",
    "sqlite3",
    "test",
    "tkinter",
    "turtle.py",
    "turtledemo",
    "venv",
}
"""Packages of Python that nothing here imports."""
LEFT_OUT_STARTS = ("_ctypes_test", "_test", "_xxtestfuzz", "config-3", "pip-", "xx")
# Each needs a library of the system that many do not have.
LEFT_OUT_MODULES = (
    "_bz2",
    "_curses",
    "_lzma",
    "_sqlite3",
    "_tkinter",
    "_uuid",
    "_zstd",
    "readline",
)
LEFT_OUT_LIBRARIES = {"sqlite3.dll", "tcl86t.dll", "tk86t.dll"}
LEFT_OUT_PACKAGES = (
    "bin",
    "Scripts",
    "*/tests",
    "*.dist-info/sboms",
    "markdown_it*",
    "mdurl*",
    "pycparser*",
    "pygments*",
    "zstandard/_cffi.*",
)
"""Paths in site-packages: what rich needs for text that we do not show, and the like."""
LEFT_OUT_SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".pxd", ".pxi", ".pyi", ".pyx", ".typed"}
LEFT_OUT_RECORDS = {
    "INSTALLER",
    "RECORD",
    "REQUESTED",
    "WHEEL",
    "direct_url.json",
    "top_level.txt",
}
"""Of installed distributions, for tools that change them."""
NO_INSTALLATION = """\
[externally-managed]
Error=This Python is a part of the program mock-kafka, which may unpack itself again at any time.
"""
"""PEP 668, which `mock_kafka/missing_requirements.py` looks at before it advises pip."""


def build(out: Path) -> Path:
    """Build the program in the folder `out`, and return its path.

    Raises:
        SystemExit: not for this system, or a tool is missing or fails.
    """
    system = SYSTEMS.get((sys.platform, platform.machine()))
    if system is None:
        raise SystemExit(f"no program for {sys.platform} on {platform.machine()}: see SYSTEMS")
    with tempfile.TemporaryDirectory() as temporary:
        content = Path(temporary, "content")
        unpack_python(system, content)
        install_packages(system, content, Path(temporary))
        archive = Path(temporary, "content.tar.zst")
        archive.write_bytes(compressed(tar_of(content, system.python)))
        return compile_launcher(system, archive, out)


def unpack_python(system: System, content: Path) -> None:
    """Unpack what is needed of the jar with Python."""
    name = f"cpython-{PYTHON_JAR.rpartition(':')[2]}-{system.classifier}"
    [jar] = fetch_jars(name, [f"{PYTHON_JAR}:{system.classifier}"], only_these=True).iterdir()
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    if digest != system.jar_sha256:
        raise SystemExit(f"{jar} has the SHA-256 {digest}, and not {system.jar_sha256}")
    root = f"org/bytedeco/cpython/{system.classifier}/"
    with zipfile.ZipFile(jar) as files:
        for member in files.infolist():
            inside = member.filename.removeprefix(root)
            if inside != member.filename and not member.is_dir() and is_needed(system, inside):
                target = content / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(files.read(member))
    (content / system.python).chmod(0o755)
    # These are searched beside what links them.
    for name, folder in (("libffi.so.8", content / system.library), *windows_runtime(content)):
        if (content / name).exists():
            shutil.move(content / name, folder)
    (content / system.library / "EXTERNALLY-MANAGED").write_text(NO_INSTALLATION)


def windows_runtime(content: Path) -> Iterator[tuple[str, Path]]:
    for name in ("vcruntime140.dll", "vcruntime140_1.dll"):
        yield f"lib/{name}", content


def is_needed(system: System, path: str) -> bool:
    """Return whether a file of the jar, relative to its root, is a part of the program."""
    folder, _, name = path.rpartition("/")
    if folder in {"", "bin"}:
        is_library = name.startswith(("libpython", "libffi.so.8", "python314.dll"))
        return path == system.python or (is_library and not folder)
    parts = path.removeprefix(f"{system.library}/").split("/")
    left_out = (*LEFT_OUT_MODULES, *system.left_out)
    return (
        path.startswith(f"{system.library}/")
        and not LEFT_OUT & set(parts)
        and not any(part.startswith(LEFT_OUT_STARTS) for part in parts)
        and not (name.endswith((".so", ".pyd")) and name.startswith(left_out))
        and name not in LEFT_OUT_LIBRARIES
    )


def install_packages(system: System, content: Path, temporary: Path) -> None:
    """Install the packages and mock-kafka, and compile all modules."""
    site_packages = content / system.library / "site-packages"
    requirements = REPOSITORY / "requirements" / "executable.txt"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheels = temporary / "wheels"
    run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", wheels, REPOSITORY)
    python = content / system.python
    # The pip of the builder, run by the Python that the packages are for.
    install = [*in_other_python(python), "install", "--quiet", "--no-compile"]
    install += ["--only-binary", ":all:", "--root-user-action", "ignore", "--target", site_packages]
    run(*install, "--require-hashes", "--requirement", requirements)
    shutil.rmtree(site_packages / "bin", ignore_errors=True)
    run(*install, "--no-deps", "--no-index", *wheels.iterdir())
    for pattern in LEFT_OUT_PACKAGES:
        for path in site_packages.glob(pattern):
            path.unlink() if path.is_file() else shutil.rmtree(path)
    for path in site_packages.rglob("*"):
        if path.suffix in LEFT_OUT_SUFFIXES or path.name in LEFT_OUT_RECORDS:
            path.unlink()
    (content / PROGRAM).write_text(
        "import sys\n\nfrom mock_kafka.cli import main\n\nsys.exit(main())\n"
    )
    strip_symbols(content)
    for path in READERS.glob("*.py"):
        shutil.copy(path, content / system.library)
    launcher = site_packages / "mock_kafka" / "isolated_launcher.py"
    compile_modules(python, content, launcher)
    archive_modules(content / system.library, content / system.first_modules, [launcher])


def strip_symbols(content: Path) -> None:
    """Remove the symbols for debuggers, which are most of some libraries for Linux."""
    if sys.platform == "linux":
        run("strip", "--strip-unneeded", *sorted(content.rglob("*.so*")))


def compile_modules(python: Path, content: Path, launcher: Path) -> None:
    """Replace sources by compiled modules: tracebacks have numbers of lines without their text.

    Args:
        python: what compiles.
        content: the folder with all modules.
        launcher: a module of ours that is also a program.
    """
    sources = [path for path in content.rglob("*.py") if path.name != PROGRAM]
    listed = content.parent / "sources"
    listed.write_text("".join(f"{path}\n" for path in sources))
    # -b: beside the source. -s: no folder of the builder in the result.
    compiled = [python, "-I", "-B", "-m", "compileall", "-q", "-b", "-s", content, "-i", listed]
    run(*compiled, "--invalidation-mode", "unchecked-hash")
    for path in sources:
        if path != launcher:
            path.unlink()


def in_other_python(python: Path) -> list[str | Path]:
    """Return the words that start this environment's pip in another Python."""
    folder = str(metadata.distribution("pip").locate_file(""))
    start = f"import sys; sys.path.insert(0, {folder!r}); "
    start += "sys.argv[0] = 'pip'; from pip._internal.cli.main import main; sys.exit(main())"
    return [python, "-I", "-B", "-W", "ignore", "-c", start, "--disable-pip-version-check"]


def tar_of(folder: Path, program: str) -> bytes:
    """Return an archive of a folder that depends on names and contents alone.

    Args:
        folder: what is archived.
        program: the one file in it that can be executed.
    """
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*"), key=compression_order):
            if path.is_dir():
                continue
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size = path.stat().st_size
            entry.mode = 0o755 if entry.name == program else 0o644
            with path.open("rb") as file:
                archive.addfile(entry, file)
    return stream.getvalue()


def compression_order(path: Path) -> tuple[str, str]:
    """Return a key that puts files of one kind together."""
    return path.suffix, path.as_posix()


def compressed(archive: bytes) -> bytes:
    """Return the archive compressed by zstd."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        COMPRESSION_LEVEL, window_log=WINDOW_LOG, enable_ldm=True
    )
    return zstandard.ZstdCompressor(compression_params=parameters).compress(archive)


def compile_launcher(system: System, archive: Path, out: Path) -> Path:
    """Compile the program around an archive into the folder `out`, and return its path."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    target = REPOSITORY / "build" / "launcher"
    cargo_home = os.environ.get("CARGO_HOME", Path.home() / ".cargo")
    environment = {
        "MOCK_KAFKA_CONTENT": str(archive),
        "MOCK_KAFKA_CONTENT_NAME": f"{version()}-{digest[:16]}",
        "MOCK_KAFKA_CONTENT_PYTHON": system.python,
        "CARGO_TARGET_DIR": str(target),
        # No folder of this machine in messages of panics.
        "RUSTFLAGS": f"--remap-path-prefix={cargo_home}=cargo",
    }
    run(
        *("cargo", "build", "--release", "--locked", "--quiet"),
        *("--manifest-path", LAUNCHER / "Cargo.toml"),
        environment=environment,
    )
    out.mkdir(parents=True, exist_ok=True)
    program = out / f"mock-kafka-{version()}-{system.name}{system.suffix}"
    shutil.copy(target / "release" / f"mock-kafka{system.suffix}", program)
    return program


def version() -> str:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: str = project["version"]
    return found


def run(*words: object, environment: dict[str, str] | None = None) -> None:
    """Run a tool; what it prints is shown."""
    command = list(map(str, words))
    try:
        done = subprocess.run(command, env={**os.environ, **(environment or {})}, check=False)
    except FileNotFoundError as error:
        raise SystemExit(f"{command[0]} is not installed") from error
    if done.returncode != 0:
        raise SystemExit(f"failed: {' '.join(command)}")


def start_s(program: Path, cache: Path) -> float:
    """Return how long a program takes until it serves, with an empty cache folder."""
    variables = {"XDG_CACHE_HOME": str(cache), "LOCALAPPDATA": str(cache)}
    start = time.perf_counter()
    with subprocess.Popen(
        [program, "serve", "--port", "0", "--until-stdin-closes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **variables},
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        taken_s = time.perf_counter() - start
        process.communicate()
    if not line.startswith(b"bootstrap.servers="):
        raise SystemExit(f"{program} serve printed {line!r}")
    return taken_s


def median_starts_s(program: Path) -> tuple[float, float]:
    """Return the medians of ten first starts, each with an empty cache, and of ten later ones."""
    first, later = [], []
    for _ in range(10):
        with tempfile.TemporaryDirectory() as cache:
            first.append(start_s(program, Path(cache)))
            later.append(start_s(program, Path(cache)))
    return statistics.median(first), statistics.median(later)


def main() -> None:
    """Build the program, and print its size and how long it takes to start."""
    parser = argparse.ArgumentParser(prog="scripts/executable", description=__doc__)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "dist", help="a folder")
    parser.add_argument("--measure", type=Path, metavar="FILE", help="one that is built already")
    options = parser.parse_args()
    program = options.measure.resolve() if options.measure else build(options.out)
    first_s, later_s = median_starts_s(program)
    size_mb = program.stat().st_size / 1e6
    print(f"{program}: {size_mb:.1f} MB")
    print(f"It serves {first_s:.2f} s after its first start, and {later_s:.2f} s after later ones.")


if __name__ == "__main__":
    main()
