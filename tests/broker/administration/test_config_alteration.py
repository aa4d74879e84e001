import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.administration.config_alteration import Operation, apply_operations, check_broker_name
from broker.config.topic_keys import TOPIC_KEYS
from broker.config.values import split_list
from broker.errors import Refusal
from protocol.configs import ConfigOperation
from protocol.errors import ErrorCode

VALUES = {key.name: key.default for key in TOPIC_KEYS.values()}
WORDS = st.lists(st.sampled_from("abcdef"), max_size=6).map(",".join)
LIST_KEY = "cleanup.policy"


def applied(layer: dict[str, str], *operations: Operation) -> dict[str, str]:
    changed = apply_operations(layer, operations, TOPIC_KEYS, VALUES)
    assert not isinstance(changed, Refusal)
    return changed


@given(WORDS, WORDS)
def test_append_adds_missing_elements_at_the_end(before: str, added: str) -> None:
    changed = applied({LIST_KEY: before}, Operation(LIST_KEY, ConfigOperation.APPEND, added))

    elements = split_list(changed[LIST_KEY])
    assert len(set(elements)) == len(elements)
    assert set(elements) == set(split_list(before)) | set(split_list(added))
    kept = list(dict.fromkeys(split_list(before)))
    assert list(elements[: len(kept)]) == kept


@given(WORDS, WORDS)
def test_subtract_removes_elements_and_keeps_the_order_of_the_rest(before: str, taken: str) -> None:
    changed = applied({LIST_KEY: before}, Operation(LIST_KEY, ConfigOperation.SUBTRACT, taken))

    expected = [word for word in split_list(before) if word not in split_list(taken)]
    assert list(split_list(changed[LIST_KEY])) == expected


def test_operations_do_not_change_the_original_layer() -> None:
    layer = {"retention.ms": "1"}

    applied(layer, Operation("retention.ms", ConfigOperation.DELETE, None))

    assert layer == {"retention.ms": "1"}


@pytest.mark.parametrize("kind", [ConfigOperation.APPEND, ConfigOperation.SUBTRACT])
def test_only_lists_can_be_appended_to(kind: ConfigOperation) -> None:
    refusal = apply_operations({}, [Operation("retention.ms", kind, "1")], TOPIC_KEYS, VALUES)

    assert isinstance(refusal, Refusal)
    assert refusal.error_code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(("name", "is_right"), [("7", True), ("07", True), ("8", False)])
def test_a_broker_accepts_its_own_id_as_resource_name(name: str, is_right: bool) -> None:
    assert (check_broker_name(name, 7) is None) == is_right


@pytest.mark.parametrize("name", ["seven", " 7", "7 ", "7_0", "\u0667", "9" * 5000])
def test_a_broker_resource_name_must_be_an_integer(name: str) -> None:
    refusal = check_broker_name(name, 7)

    assert refusal is not None
    assert refusal.error_code is ErrorCode.INVALID_REQUEST
    assert len(refusal.error_message or "") <= 1000


def test_a_refusal_may_have_no_message() -> None:
    assert Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None).error_message is None
