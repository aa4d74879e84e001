"""A rule's handle, as Python shows it."""

from mock_kafka.control import Control
from mock_kafka.fault import Fault


def test_it_says_which_rule_it_is() -> None:
    plain = {"id": 3, "rule": {"api": "Produce", "times": 1}, "fired": 0}
    fault = Fault(Control("http://127.0.0.1:1"), plain)
    assert repr(fault) == "<Fault 3: api='Produce', times=1>"
    assert (fault.id, fault.rule["times"]) == (3, 1)
