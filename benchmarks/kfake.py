"""Build kfake, franz-go's fake cluster, if Go is installed."""

from functools import cache
from pathlib import Path

from scenarios.toolchain import cached_folder, digest, run_tool

SOURCE = Path(__file__).with_name("kfake_server")


@cache
def executable() -> Path:
    """Return the path of the server, which takes `--brokers N`; the first call builds it.

    Raises:
        CannotRunError: no Go toolchain, or it could not fetch or compile.
    """
    sources = [path for path in SOURCE.iterdir() if path.is_file()]

    def build(folder: Path) -> None:
        run_tool("go", ["build", "-o", str(folder / "server"), "."], SOURCE)

    return cached_folder(f"kfake-{digest(sources)}", build) / "server"
