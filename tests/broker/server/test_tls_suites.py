import ssl

import pytest

from broker.server.tls_suites import UnsupportedError, openssl_ciphers, versions_of

BOTH = ("TLSv1.2", "TLSv1.3")
OF_1_2, OF_1_3 = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"


@pytest.mark.parametrize(
    ("protocols", "suites", "names"),
    [
        (BOTH, (), ["TLSv1_2", "TLSv1_3"]),
        (("TLSv1.3", "TLSv1.2"), (), ["TLSv1_2", "TLSv1_3"]),
        (("TLSv1.2",), (), ["TLSv1_2"]),
        (("TLSv1.1", "TLSv1.3"), (), ["TLSv1_3"]),
        (BOTH, (OF_1_2,), ["TLSv1_2"]),
        (BOTH, (OF_1_3,), ["TLSv1_3"]),
        (BOTH, (OF_1_3, OF_1_2), ["TLSv1_2", "TLSv1_3"]),
    ],
)
def test_a_version_is_spoken_if_it_is_enabled_and_has_a_suite(
    protocols: tuple[str, ...], suites: tuple[str, ...], names: list[str]
) -> None:
    assert versions_of(protocols, suites) == [ssl.TLSVersion[name] for name in names]


@pytest.mark.parametrize(
    ("protocols", "suites", "message"),
    [
        (("TLSv9",), (), "ssl.enabled.protocols: Unsupported protocolTLSv9"),
        (("TLSv1.1",), (), "ssl.enabled.protocols: No appropriate protocol"),
        (("TLSv1.3",), (OF_1_2,), "ssl.enabled.protocols: No appropriate protocol"),
    ],
)
def test_nothing_to_speak_is_refused(
    protocols: tuple[str, ...], suites: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UnsupportedError, match=message):
        versions_of(protocols, suites)


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        (OF_1_2, "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA256", "AES256-SHA256"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        (OF_1_3, ""),
    ],
)
def test_a_suite_has_another_name_in_openssl(java: str, openssl: str) -> None:
    assert openssl_ciphers([java]) == openssl


@pytest.mark.parametrize("name", ["x", "TLS_RSA_WITH_ROT13", "TLS_X_WITH_AES_128_GCM_SHA256"])
def test_an_unknown_suite_is_refused(name: str) -> None:
    message = f"ssl.cipher.suites: Unsupported CipherSuite: {name}"
    with pytest.raises(UnsupportedError, match=message):
        openssl_ciphers([name])
