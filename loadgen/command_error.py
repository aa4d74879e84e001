"""What ends a command of the load generator with one line."""


class CommandError(Exception):
    """The message is one line for the user."""
