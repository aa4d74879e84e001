import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.administration.config_operations import Operation, apply_operations
from broker.config.topic_keys import TOPIC_KEYS
from broker.config.values import split_list
from broker.errors import Refusal
from protocol.configs import ConfigOperation
from protocol.errors import ErrorCode

WORDS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True).map(",".join)
LIST_KEY = "cleanup.policy"


def applied(layer: dict[str, str], *operations: Operation) -> dict[str, str]:
    changed = apply_operations(layer, operations, TOPIC_KEYS)
    assert not isinstance(changed, Refusal)
    return changed


@given(WORDS, WORDS)
def test_append_adds_missing_elements_at_the_end(before: str, added: str) -> None:
    changed = applied({LIST_KEY: before}, Operation(LIST_KEY, ConfigOperation.APPEND, added))

    elements = split_list(changed[LIST_KEY])
    assert len(set(elements)) == len(elements)
    assert set(elements) == set(split_list(before)) | set(split_list(added))
    kept = split_list(before)
    assert elements[: len(kept)] == kept


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
    refusal = apply_operations({}, [Operation("retention.ms", kind, "1")], TOPIC_KEYS)

    assert isinstance(refusal, Refusal)
    assert refusal.error_code is ErrorCode.INVALID_CONFIG
    assert refusal.error_message == (
        f"Can't {kind.name} to key retention.ms because its type is not LIST."
    )
