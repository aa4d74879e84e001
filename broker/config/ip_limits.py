"""The limits of single addresses in `max.connections.per.ip.overrides`.

Sources: Kafka's `AbstractKafkaConfig.getMap`, `Csv.parseCsvMap` and `ConnectionQuotas`.
"""

import re

from broker.config.keys import ConfigError, shortened

IP_LIMITS_KEY = "max.connections.per.ip.overrides"

_SEPARATOR = re.compile(r"\s*,\s*")
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]*")
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


def parse_ip_limits(text: str) -> dict[str, int]:
    """Return the limits by host, from `HOST:LIMIT,...`; a host may be a name or an address.

    Raises:
        ConfigError: an entry has another form, in the words of Kafka where it has some.
    """
    limits = {}
    for entry in _SEPARATOR.split(text) if text else ():
        host, colon, limit = (part.strip() for part in entry.rpartition(":"))
        if not colon:
            raise ConfigError(
                f"Error parsing configuration property '{IP_LIMITS_KEY}':"
                f" {shortened(entry)!r} is not HOST:LIMIT"
            )
        if not _INTEGER.fullmatch(limit) or not -(1 << 31) <= int(limit) < 1 << 31:
            raise ConfigError(f'{IP_LIMITS_KEY}: For input string: "{shortened(limit)}"')
        limits[host] = int(limit)
    invalid = [shortened(host) for host in limits if not _HOST.fullmatch(host)]
    if invalid:
        raise ConfigError(f"{IP_LIMITS_KEY} contains invalid addresses : {','.join(invalid)}")
    return limits
