"""An archive of the classes that Spark loads, with which the next JVMs start twice as fast.

It is a file of 200 MB in the user's cache folder (`java -XX:SharedArchiveFile`). Each Java and each
PySpark needs its own, and the JVM ignores an archive that does not fit.
"""

import hashlib
import os
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

# Other JVMs than that of OpenJDK do not know these options.
_QUIET = "-XX:+IgnoreUnrecognizedVMOptions -Xlog:cds=off -Xlog:cds+dynamic=off"


def path() -> Path | None:
    """Return where the archive is or would be; None if there can be none."""
    java, home = _java(), _spark_home()
    if java is None or home is None or _has_configuration(home):
        return None
    jars = home / "jars"
    parts = (java.resolve(), java.stat().st_mtime_ns, home, jars.stat().st_mtime_ns)
    key = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return cache / "mock-kafka" / f"spark-classes-{key}.jsa"


def options() -> str:
    """Return the options of a JVM that uses the archive; empty if there is none."""
    archive = path()
    if archive is None or not archive.is_file():
        return ""
    return f"{_QUIET} {shlex.quote(f'-XX:SharedArchiveFile={archive}')}"


def recording_options(file: Path) -> str:
    """Return the options of a JVM that writes the classes that it has loaded when it ends."""
    return f"{_QUIET} {shlex.quote(f'-XX:ArchiveClassesAtExit={file}')}"


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = f"{home}/bin/java" if home else shutil.which("java")
    return Path(found) if found and Path(found).is_file() else None


def _spark_home() -> Path | None:
    spec = find_spec("pyspark")
    installed = Path(spec.origin).parent if spec is not None and spec.origin else None
    home = os.environ.get("SPARK_HOME")
    found = Path(home) if home else installed
    return found if found is not None and (found / "jars").is_dir() else None


def _has_configuration(home: Path) -> bool:
    """Return whether a folder is on the class path, with which no archive can be used."""
    folder = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf")
    return folder.is_dir() and any(folder.iterdir())
