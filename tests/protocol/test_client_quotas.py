from protocol.client_quotas import QuotaMatch, quota_levels


def test_match_types_have_the_numbers_of_kip_546() -> None:
    assert {match.name: match.value for match in QuotaMatch} == {
        "EXACT": 0,
        "DEFAULT": 1,
        "ANY": 2,
    }


def test_a_user_comes_before_a_client_id_and_a_name_before_the_default() -> None:
    assert [tuple(level.values()) for level in quota_levels("u", "c") if len(level) == 2] == [
        ("u", "c"),
        ("u", None),
        (None, "c"),
        (None, None),
    ]
    assert [level for level in quota_levels("u", "c") if len(level) == 1] == [
        {"user": "u"},
        {"user": None},
        {"client-id": "c"},
        {"client-id": None},
    ]
