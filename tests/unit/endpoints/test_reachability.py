from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoints.addressing import address_fault


def each(text: str) -> list[str]:
    return text.split()


FORBIDDEN_IPV4 = {
    "the unspecified address": each("0.0.0.0 0.255.255.255"),
    "a private address": each(
        "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255",
    ),
    "a carrier's customers": each("100.64.0.0 100.100.100.200 100.127.255.255"),
    "loopback": each("127.0.0.0 127.0.0.1 127.255.255.255"),
    "Azure": each("168.63.129.16"),
    "a link-local address, where clouds serve instance metadata": each("169.254.0.0 169.254.169.254 169.254.255.255"),
    "reserved for protocols": each("192.0.0.0 192.0.0.9 192.0.0.192 192.0.0.255"),
    "reserved for documentation": each("192.0.2.0 192.0.2.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255"),
    "AS112": each("192.31.196.0 192.31.196.255 192.175.48.0 192.175.48.255"),
    "multicast tunnels": each("192.52.193.0 192.52.193.255"),
    "6to4": each("192.88.99.0 192.88.99.255"),
    "benchmarking": each("198.18.0.0 198.19.255.255"),
    "a multicast address": each("224.0.0.0 239.255.255.255"),
    "reserved, or broadcast": each("240.0.0.0 255.255.255.255"),
}
FORBIDDEN_IPV6 = {
    "the unspecified address": each("::"),
    "a loopback address": each("::1"),
    "an IPv4-compatible form": each("::2 ::127.0.0.1 ::8.8.8.8"),
    "a network's own IPv4 translation": each("64:ff9b:1:: 64:ff9b:1::808:808 64:ff9b:1:ffff::1"),
    "Teredo": each("2001:: 2001::1 2001:0:ffff::1"),
    "reserved for protocols": each("2001:1::1 2001:2::1 2001:4:112::1 2001:20::1 2001:30::1 2001:1ff:ffff::1"),
    "reserved for documentation": each("2001:db8:: 2001:db8:ffff::1 3fff:: 3fff:fff:ffff::1"),
    "6to4": each("2002:: 2002:a9fe:a9fe:: 2002:808:808:: 2002:ffff:ffff::1"),
    "AS112": each("2620:4f:8000::1"),
    "outside the global unicast range": each("::ffff:0:127.0.0.1 100::1 1fff::1 4000::1 5f00::1 fbff::1 fe00::1"),
    "unique local": each("fc00:: fd00:ec2::254 fdff:ffff::1"),
    "a link-local address": each("fe80:: fe80::1 febf:ffff::1"),
    "a site-local address": each("fec0:: feff:ffff::1"),
    "a multicast address": each("ff00:: ff02::1 ffff:ffff::"),
}
# The neighbours of the forbidden ranges: a table that is too wide would cut off customers.
ALLOWED_IPV4 = each(
    "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.216.34 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 "
    "169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 "
    "198.20.0.0 203.0.114.0 223.255.255.255"
)
ALLOWED_IPV6 = each("2000::1 2001:200::1 2001:4860:4860::8888 2003::1 2606:4700:4700::1111 2a00:1450::1 3ffe::1")


@pytest.mark.parametrize(
    ("kind", "address"),
    [(kind, text) for table in (FORBIDDEN_IPV4, FORBIDDEN_IPV6) for kind, texts in table.items() for text in texts],
)
def test_an_address_that_is_not_public_may_not_be_dialled_and_the_reason_says_what_it_is(kind, address):
    fault = address_fault(address)
    assert fault is not None
    assert kind in fault
    assert address_fault(ip_address(address)) == fault


@pytest.mark.parametrize("address", ALLOWED_IPV4 + ALLOWED_IPV6)
def test_a_public_address_may_be_dialled(address):
    assert address_fault(address) is None
    assert address_fault(ip_address(address)) is None


@pytest.mark.parametrize("address", [*chain.from_iterable(FORBIDDEN_IPV4.values()), *ALLOWED_IPV4])
def test_an_ipv4_address_inside_an_ipv6_one_is_judged_as_itself(address):
    for base in ("::ffff:0:0", "64:ff9b::"):
        wrapped = IPv6Address(int(IPv6Address(base)) + int(IPv4Address(address)))
        assert address_fault(wrapped) == address_fault(address)


@pytest.mark.parametrize("address", ["fe80::1%eth0", "2606:4700:4700::1111%1"])
def test_an_address_bound_to_a_zone_may_not_be_dialled(address):
    assert address_fault(address)


@pytest.mark.parametrize("text", ["", "h.example", "127.1", "0177.0.0.1", "2130706433", "[::1]", "8.8.8.8\n"])
def test_what_is_no_address_may_not_be_dialled(text):
    assert address_fault(text) == "This is not an IP address."


def test_an_allowed_network_exempts_its_addresses_in_every_form_and_nothing_else():
    allowed = [ip_network("127.0.0.0/8"), ip_network("fd00::/8")]
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fd00::1"):
        assert address_fault(address, allowed) is None
    for address in ("10.0.0.1", "169.254.169.254", "::1", "fe80::1"):
        assert address_fault(address, allowed)


def test_the_reason_does_not_name_the_address():
    assert "169.254" not in str(address_fault("169.254.169.254"))


@given(st.ip_addresses())
def test_nothing_that_python_calls_private_is_ever_allowed(address):
    if address_fault(address) is None:
        reached = address if address.is_global else getattr(address, "ipv4_mapped", None)
        assert reached is not None
        assert reached.is_global
        assert not reached.is_multicast
