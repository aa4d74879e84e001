"""The atlas as a pytest plugin: `pytest -p mock_kafka.atlas --atlas-client NAME`.

`atlas/pytest_plugin.py` has its options and its tests.
"""

from mock_kafka.commands import place_of

pytest_plugins = (place_of("atlas.pytest_plugin"),)
