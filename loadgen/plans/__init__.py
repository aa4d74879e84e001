"""The built-in load plans, YAML files."""

from importlib.resources import files


def built_in_plans() -> dict[str, str]:
    """Return the first comment line of each built-in plan, by its name."""
    found = {}
    paths = [path for path in files(__name__).iterdir() if path.name.endswith(".yaml")]
    for path in sorted(paths, key=lambda path: path.name):
        first_line = path.read_text(encoding="utf-8").partition("\n")[0]
        found[path.name.removesuffix(".yaml")] = first_line.removeprefix("# ")
    return found
