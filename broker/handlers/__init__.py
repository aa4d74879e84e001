"""One module per API; importing this package registers them all.

To add an API, add a module `kNN_name.py`. Its docstring goes into docs/coverage.md.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
