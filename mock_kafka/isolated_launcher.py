"""The main program of the broker's process.

Start it as `python -I -S .../mock_kafka/isolated_launcher.py ARGUMENTS`. It must not run a
`broker.py` from the current folder, from PYTHONPATH, or from an editable project of the user.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

PATH_VARIABLE = "MOCK_KAFKA_PATH"
"""The parent's `sys.path`, to find libraries that an isolated process does not find."""

_OUR_FOLDER = str(Path(__file__).resolve().parent.parent)
_OUR_PACKAGES = {"mock_kafka"}
# In a checkout the other packages are beside this one.
if not Path(__file__).with_name("_internal").is_dir():
    _OUR_PACKAGES |= {marker.parent.name for marker in Path(_OUR_FOLDER).glob("*/py.typed")}


class _OwnPackages:
    """Find our packages beside this file, even if other packages have the same names."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [_OUR_FOLDER]) if name in _OUR_PACKAGES else None


_LIBRARY_FOLDERS = {"site-packages", "dist-packages"}

_NOT_THERE = {"org"}
"""A package of Jython, for which `copy` and `pickle` look."""


class _SiteOnDemand:
    """Find what only `site` makes importable, such as editable installations.

    `site` runs the `.pth` files of the environment. That takes a tenth of the start, and what they
    add to the path is in the parent's. So it runs when a module is found nowhere else.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, _target: object = None) -> ModuleSpec | None:
        is_known = path is not None or name in sys.stdlib_module_names or name in _NOT_THERE
        if is_known or not sys.flags.no_site:
            return None
        sys.meta_path.remove(_SiteOnDemand)
        import site  # noqa: PLC0415

        site.main()
        return find_spec(name)


def main() -> None:
    """Run the broker, or the proxy, with the arguments of the command line."""
    sys.meta_path.insert(0, _OwnPackages)
    sys.meta_path.append(_SiteOnDemand)
    known = os.environ.get(PATH_VARIABLE, "").split(os.pathsep)
    # Libraries of the environment come before modules of the user that have their names.
    known.sort(key=lambda folder: os.path.basename(folder) not in _LIBRARY_FOLDERS)
    sys.path += [folder for folder in known if folder and folder not in sys.path]
    if sys.argv[1:2] == ["proxy"]:
        from proxy.__main__ import main as proxy_main  # noqa: PLC0415 - needs the lines above

        sys.exit(proxy_main(sys.argv[2:]))
    from broker.__main__ import main as broker_main  # noqa: PLC0415 - the same

    sys.exit(broker_main())


if __name__ == "__main__":
    main()
