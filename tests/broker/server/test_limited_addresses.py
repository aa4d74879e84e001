from broker.server.limited_addresses import limits_by_address


def test_names_are_looked_up() -> None:
    assert limits_by_address("localhost:2,no.such.host.invalid:3")["127.0.0.1"] == 2
    assert limits_by_address("0:0:0:0:0:0:0:1:4") == {"::1": 4}
