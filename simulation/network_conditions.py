"""How a simulated network behaves."""

from dataclasses import dataclass


@dataclass(slots=True)
class NetworkConditions:
    """The behaviour of the network; probabilities are per send or per connection."""

    delay_ms_max: int = 5
    """Data arrives after 0 to this many ms; connections overtake each other."""
    slow_chance: float = 0.0
    """The probability that data takes up to `slow_ms_max`."""
    slow_ms_max: int = 400
    split_chance: float = 0.0
    """The probability that what is sent at once arrives in two parts."""
    cut_chance: float = 0.0
    """The probability that the connection breaks in the middle of a send."""
    half_open_chance: float = 0.0
    """The probability that one side does not notice that its connection broke."""
    refuse_chance: float = 0.0
    """The probability that a connection attempt is refused."""
    black_hole_chance: float = 0.0
    """The probability that a connection attempt gets no response."""
    reset_chance: float = 0.5
    """The probability that the last data of a closing client is lost instead of late."""
    unread_bytes_max: int = 65_536
    """Bytes on the way to a client at which the broker's transport is full."""

    def clear(self) -> None:
        """End all network faults."""
        self.slow_chance = self.cut_chance = self.half_open_chance = 0.0
        self.refuse_chance = self.black_hole_chance = 0.0
