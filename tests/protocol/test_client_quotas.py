from protocol.client_quotas import QuotaMatch


def test_match_types_have_the_numbers_of_kip_546() -> None:
    assert {match.name: match.value for match in QuotaMatch} == {
        "EXACT": 0,
        "DEFAULT": 1,
        "ANY": 2,
    }
