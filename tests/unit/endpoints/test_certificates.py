"""Which texts can serve as an endpoint's own certificate authorities."""

import pytest

from deliveries.transport.tls import tls_context
from endpoints.certificates import MAX_LENGTH, ca_fault
from tests.integration.transport.certificates import Authority

GOOD = Authority().pem
OTHER = Authority().pem


@pytest.mark.parametrize(
    "pem",
    [
        "",
        GOOD,
        GOOD.strip(),
        GOOD + OTHER,
        GOOD + GOOD,
        f"Issuer: Test authority\n{GOOD}\n# and\n{OTHER}",
        GOOD.replace("\n", "\r\n"),
    ],
    ids=["none", "one", "without a last line break", "two", "one twice", "with remarks", "with DOS line ends"],
)
def test_pem_that_can_be_used_is_taken_and_tls_takes_it_too(pem):
    assert ca_fault(pem) is None
    tls_context(pem)


@pytest.mark.parametrize(
    ("pem", "words"),
    [
        ("no PEM", "whole certificates in PEM"),
        ("MIIBszCCAVmgAwIBAgIU", "whole certificates in PEM"),
        (GOOD[:200], "whole certificates in PEM"),
        (GOOD + OTHER[:200], "whole certificates in PEM"),
        (GOOD.replace("\n", " "), "whole certificates in PEM"),
        (GOOD + OTHER[:100] + "!!!!" + OTHER[104:], "Certificate 2 of 2 cannot be read"),
        (GOOD.replace("\nMI", "\nAA", 1), "Certificate 1 of 1 cannot be read"),
        (f"{GOOD}-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\n", "private key"),
        (f"é{GOOD}", "ASCII"),
        (GOOD * (MAX_LENGTH // len(GOOD) + 1), "At most"),
    ],
)
def test_what_cannot_is_refused_in_words_that_quote_nothing_of_it(pem, words):
    fault = ca_fault(pem)

    assert words in fault
    assert "MI" not in fault
