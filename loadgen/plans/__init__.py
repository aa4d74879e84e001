"""The built-in load plans, YAML files."""
