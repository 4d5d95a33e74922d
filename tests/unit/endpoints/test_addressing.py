import contextlib
from ipaddress import ip_address, ip_network

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from urllib3.util import parse_url

from endpoints.addressing import UnusableURL, canonical_url, split_target

LOOPBACK = [ip_network("127.0.0.0/8"), ip_network("::1/128")]


def each(text: str) -> list[str]:
    return text.split()


def refusal(url: str, **options) -> UnusableURL:
    with pytest.raises(UnusableURL) as caught:
        canonical_url(url, **options)
    return caught.value


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://h.example", "https://h.example/"),
        ("HTTPS://H.Example/Hook", "https://h.example/Hook"),
        ("https://h.example:443/", "https://h.example/"),
        ("http://h.example:80/", "http://h.example/"),
        ("http://h.example:443/", "http://h.example:443/"),
        ("https://h.example:/x", "https://h.example/x"),
        ("https://h.example:08443/x", "https://h.example:8443/x"),
        ("https://h.example./hook", "https://h.example/hook"),
        ("https://h.example?x=1", "https://h.example/?x=1"),
        ("https://h.example/?", "https://h.example/"),
        ("https://my_host.example/h", "https://my_host.example/h"),
        ("https://receiver:8000/h", "https://receiver:8000/h"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://my_host.BÜCHER.example/", "https://my_host.xn--bcher-kva.example/"),
        ("https://h。example/", "https://h.example/"),
        ("https://[2606:4700:4700:0::1111]/", "https://[2606:4700:4700::1111]/"),
        ("https://[2606:4700:4700::1111]:12900/h", "https://[2606:4700:4700::1111]:12900/h"),
        ("https://[::ffff:8.8.8.8]/", "https://8.8.8.8/"),
        ("https://[64:ff9b::808:808]/", "https://[64:ff9b::808:808]/"),
        ("https://8.8.8.8./", "https://8.8.8.8/"),
        ("https://h.example//a/./b/../c/", "https://h.example/a/c/"),
        ("https://h.example/a/..", "https://h.example/"),
        ("https://h.example/a/b/..", "https://h.example/a/"),
        ("https://h.example/a/.", "https://h.example/a/"),
        ("https://h.example/%2e%2E/a", "https://h.example/a"),
        ("https://h.example/%7ename/a%2fb", "https://h.example/~name/a%2Fb"),
        ("https://h.example/grün?q=é", "https://h.example/gr%C3%BCn?q=%C3%A9"),
        ('https://h.example/{id}|"?a[]=<>', "https://h.example/%7Bid%7D%7C%22?a%5B%5D=%3C%3E"),
        ("https://h.example/a;b=c,d/@me:x!$&'()*+?x=/?&y=+", "https://h.example/a;b=c,d/@me:x!$&'()*+?x=/?&y=+"),
    ],
)
def test_a_usable_url_is_rebuilt_in_one_spelling(url, canonical):
    assert canonical_url(url) == canonical


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("", "form"),
        ("h.example/hook", "form"),
        ("//h.example/hook", "form"),
        ("https:/h.example", "form"),
        ("ftp://h.example/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("javascript://h.example/", "scheme"),
        ("https://name:pw@h.example/hook", "credentials"),
        ("https://name@h.example/hook", "credentials"),
        ("https://@h.example/hook", "credentials"),
        ("https://h.example/#/hook", "fragment"),
        ("https://h.example/#", "fragment"),
        (" https://h.example/", "text"),
        ("https://h.example/\n", "text"),
        ("https://h.example/a b", "text"),
        ("https://h.exa\tmple/", "text"),
        ("https://h.example\r\n/", "text"),
        ("https://h.example/\x00", "text"),
        ("https://h.example/\u202e", "text"),
        ("https://h.example/\u2028", "text"),
        ("https://h.example/\ud800", "text"),
        ("http://127.0.0.1:6666\\@1.1.1.1/", "text"),
        ("https://h.example\\.evil.example/", "text"),
        ("https:///hook", "host"),
        ("https://./", "host"),
        ("https://h..example/", "host"),
        ("https://h.example../", "host"),
        ("https://.h.example/", "host"),
        ("https://*.example/", "host"),
        ("https://h%2eexample/", "host"),
        ("https://h.example:80:80/", "host"),
        ("https://2606:4700::1111/", "host"),
        ("https://[2606:4700::1111/", "host"),
        ("https://[2606:4700::1111]x/", "host"),
        ("https://[h.example]/", "host"),
        ("https://[v1.x]/", "host"),
        ("https://[]/", "host"),
        ("https://[fe80::1%25eth0]/", "host"),
        ("https://😱.example/", "host"),
        ("https://xn--" + "ü" * 70 + ".example/", "host"),
        ("https://" + "a" * 64 + ".example/", "host"),
        ("https://" + "a." * 126 + "ab/", "host"),
        ("https://h.example:0/", "port"),
        ("https://h.example:65536/", "port"),
        ("https://h.example:" + "9" * 1500 + "/", "port"),
        ("https://h.example:٨٠/", "host"),
        ("https://h.example:-1/", "host"),
        ("https://h.example/100%", "path"),
        ("https://h.example/?x=%zz", "path"),
    ],
)
def test_an_unusable_url_is_refused_by_rule(url, rule):
    assert refusal(url).rule == rule


@pytest.mark.parametrize(
    "host",
    each(
        "017700000001 2130706433 0x7f.1 0x7f000001 0X7F.0.0.1 0177.0.0.1 127.1 127.0.1 127.0.0.01 127.0.0.1.1 "
        "1.2.3.256 8.8.8.0x8 8.8.8.0x h.1 999999999999 \uff11\uff12\uff17.1"
    ),
)
def test_an_ipv4_address_in_any_spelling_but_the_plain_one_is_refused(host):
    assert refusal(f"http://{host}/").rule == "ipv4-spelling"


@pytest.mark.parametrize(
    "host",
    each(
        "127.0.0.1 169.254.169.254. 10.0.0.1 100.64.0.1 0.0.0.0 [::] [::1] [::ffff:127.0.0.1] [::ffff:a9fe:a9fe] "
        "[fd00::1] [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::] [2001::1] [2001:db8::1]:12900 "
        "\uff11\uff12\uff17.0.0.1 127。0。0。1"
    ),
)
def test_an_address_that_may_not_be_dialled_is_refused_at_save(host):
    assert refusal(f"http://{host}/").rule == "address"


@pytest.mark.parametrize(
    "host",
    each(
        "localhost LOCALHOST. db.localhost a.b.LocalHost. ⓛocalhost localhost.localdomain ip6-loopback metadata "
        "metadata.google.internal. METADATA.goog instance-data"
    ),
)
def test_a_local_or_metadata_name_is_refused_in_any_spelling(host):
    assert refusal(f"http://{host}:8000/").rule == "name"


@pytest.mark.parametrize("host", ["localhost.example", "mylocalhost", "metadata.example", "x.metadata"])
def test_a_name_that_only_resembles_a_local_one_is_usable(host):
    assert canonical_url(f"http://{host}/") == f"http://{host}/"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "[::1]", "localhost", "db.localhost"])
def test_loopback_is_usable_where_its_network_is_allowed(host):
    url = f"http://{host}:8080/hook"
    assert canonical_url(url, allowed_networks=LOOPBACK) == url
    assert refusal(url, allowed_networks=[ip_network("10.0.0.0/8")])


def test_allowing_loopback_opens_neither_metadata_nor_other_addresses_nor_odd_spellings():
    assert refusal("http://metadata.google.internal/", allowed_networks=LOOPBACK).rule == "name"
    assert refusal("http://169.254.169.254/", allowed_networks=LOOPBACK).rule == "address"
    assert refusal("http://127.1/", allowed_networks=LOOPBACK).rule == "ipv4-spelling"


def test_a_long_provider_url_is_kept_whole():
    url = "https://prod-07.logic.example/workflows/" + "a" * 1900 + "/run?api-version=1&sig=the-end"
    assert canonical_url(url) == url


def test_a_url_at_the_limit_is_kept_and_one_beyond_is_refused_not_cut():
    start = "https://h.example/"
    assert len(canonical_url(start + "a" * (2048 - len(start)))) == 2048
    assert refusal(start + "a" * (2049 - len(start))).rule == "length"
    assert refusal(start + "ü" * 1000).rule == "length"
    assert refusal(start, max_length=5).rule == "length"


def test_a_refusal_never_quotes_the_url():
    for url in ["https://name:s3cr3t@h.example/", "https://h.example/s3cr3t#x", "http://127.0.0.1/s3cr3t", "x s3cr3t"]:
        assert "s3cr3t" not in str(refusal(url))


def test_a_target_has_one_host_key_without_brackets_or_trailing_dot():
    target = split_target("https://[2606:4700:4700::1111]:8443/a?b=c")
    assert (target.scheme, target.host, target.port) == ("https", "2606:4700:4700::1111", 8443)
    assert target.authority == "[2606:4700:4700::1111]:8443"
    assert target.path == "/a?b=c"
    assert target.address == ip_address("2606:4700:4700::1111")
    assert split_target("https://GitHub.com./x").host == "github.com"


@pytest.mark.parametrize(
    ("url", "port", "authority"),
    [
        ("http://h.example/", 80, "h.example"),
        ("https://h.example/", 443, "h.example"),
        ("https://h.example:80/", 80, "h.example:80"),
        ("http://[::1]/", 80, "[::1]"),
    ],
)
def test_a_default_port_is_filled_in_and_left_out_of_the_host_header(url, port, authority):
    target = split_target(url)
    assert (target.port, target.authority) == (port, authority)


hosts = st.sampled_from(
    [
        "h.example",
        "H.Example.",
        "my_host.example",
        "bücher.example",
        "8.8.8.8",
        "[2606:4700:4700::1111]",
        "[::ffff:8.8.4.4]",
    ]
)
ports = st.sampled_from(["", ":", ":80", ":443", ":8080", ":08080"])
tails = st.lists(
    st.one_of(
        st.sampled_from([*"/?.;=&+[]{}|~", "..", "%2e", "%2F", "%7e", "%c3%a9", "//", "/./", "/../"]),
        st.characters(exclude_categories=["C", "Z"], exclude_characters="\\#%"),
    ),
    max_size=20,
).map("".join)


@given(st.sampled_from(["http://", "HTTPS://"]), hosts, ports, tails)
def test_canonical_is_a_fixed_point_that_the_http_client_sends_unchanged(scheme, host, port, tail):
    canonical = canonical_url(f"{scheme}{host}{port}/{tail}")
    assert canonical.isascii()
    assert canonical_url(canonical) == canonical
    assert split_target(canonical).url == canonical
    assert parse_url(canonical).url == canonical
    assert requests.Request("POST", canonical).prepare().url == canonical


@given(st.text(max_size=60))
def test_any_text_is_either_rebuilt_or_refused(text):
    for url in (text, f"https://{text}", f"https://h.example{text}"):
        with contextlib.suppress(UnusableURL):
            assert split_target(canonical_url(url)).host
