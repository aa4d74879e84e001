"""Take the passwords out of a plan's text before it is written to a result."""

import re
from collections.abc import Iterator

import yaml

_KEY = re.compile(
    r"[\w.-]*password|sasl\.users|sasl\.jaas\.config"
    r"|broker\.admin\.token|delegation\.token\.secret\.key"
)
_REFERENCE = re.compile(r"\$\{env:[^}]*\}")


def without_passwords(plan_text: str) -> str:
    """Return the YAML text with `"***"` for each password, list of users and token.

    A value that is only the name of an environment variable, `${env:NAME}`, stays.
    """
    secrets = set(_secrets(yaml.compose(plan_text, Loader=yaml.SafeLoader)))
    for start, end in sorted(secrets, reverse=True):
        replaced = plan_text[start:end]
        line_end = replaced[len(replaced.rstrip()) :]  # of a block
        plan_text = f'{plan_text[:start]}"***"{line_end}{plan_text[end:]}'
    return plan_text


def _secrets(node: yaml.Node | None) -> Iterator[tuple[int, int]]:
    """Yield where the values of secret keys start and end."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _secrets(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            is_secret = isinstance(value, yaml.ScalarNode) and _KEY.fullmatch(str(key.value))
            if is_secret and value.value and not _REFERENCE.fullmatch(value.value):
                yield value.start_mark.index, value.end_mark.index
            yield from _secrets(value)
