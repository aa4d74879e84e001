"""A value of a configuration, as users write it and as a properties file has it."""

ConfigValue = str | int | float | bool


def config_text(value: ConfigValue) -> str:
    """Return the value as text for a properties file."""
    return str(value).lower() if isinstance(value, bool) else str(value)
