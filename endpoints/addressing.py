"""Where an endpoint may be: its URL judged, and rebuilt in the one spelling that is stored and sent. Pure.

Nothing is dialled or resolved here. A name that passes is judged again by `address_fault` once it is resolved, on every
attempt; the rules for names are only there to say early what would fail later.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import quote

import idna

from endpoints.custom_headers import header_fault
from endpoints.reachability import Address, Network, address_fault

__all__ = ["Target", "UnusableURL", "address_fault", "canonical_url", "header_fault", "split_target"]

# Providers hand out workflow URLs of several hundred characters whose end is the credential: never cut one.
MAX_URL_LENGTH = 2048
DEFAULT_PORTS = {"http": 80, "https": 443}

_PARTS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?"
)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")
# The underscore is no letter of a host name (RFC 1123), but the DNS carries it and people run receivers under it.
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
# "Ends in a number" of the WHATWG URL standard: what some resolvers would read as an IPv4 address.
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
# RFC 3986: unreserved characters, delimiters and the percent sign of an escape. The rest is escaped as UTF-8.
_SAFE_IN_PATH = "!$%&'()*+,/:;=@~"
_SAFE_IN_QUERY = _SAFE_IN_PATH + "?"
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

_LOOPBACK = (IPv4Address("127.0.0.1"), IPv6Address("::1"))
# AWS and Google Cloud serve instance metadata, credentials included, at these addresses.
_METADATA = (IPv4Address("169.254.169.254"), IPv6Address("fd00:ec2::254"), IPv6Address("fd20:ce::254"))
_LOCAL_NAMES: dict[str, tuple[Address, ...]] = {
    "localhost": _LOOPBACK,
    "localhost.localdomain": _LOOPBACK,
    "ip6-localhost": _LOOPBACK,
    "ip6-loopback": _LOOPBACK,
    "metadata": _METADATA,
    "metadata.goog": _METADATA,
    "metadata.google.internal": _METADATA,
    "instance-data": _METADATA,
    "instance-data.ec2.internal": _METADATA,
}


class UnusableURL(ValueError):
    """This URL cannot be an endpoint's. The message is a sentence for its owner and never quotes the URL.

    `rule` is one of `text`, `length`, `form`, `scheme`, `credentials`, `fragment`, `host`, `ipv4-spelling`, `port`,
    `path`, `name` and `address`.
    """

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart."""

    scheme: str
    host: str
    """Without brackets and trailing dot: the one key for DNS, address guard, SNI and rate limit."""
    port: int
    path: str
    """Path and query, as they stand on the request line."""
    address: Address | None
    """The host as an address when the URL names one literally."""

    @property
    def authority(self) -> str:
        """The `Host` header: IPv6 in brackets, no default port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def canonical_url(url: str, *, max_length: int = MAX_URL_LENGTH, allowed_networks: Sequence[Network] = ()) -> str:
    """The one spelling of this URL, ASCII only, which is stored, shown and sent. Raises UnusableURL.

    Applying it twice changes nothing, and neither urllib3 nor requests alters the result. `max_length` counts
    characters; `allowed_networks` are exempt from the rules about addresses and local names.
    """
    if len(url) > max_length:
        raise UnusableURL("length", f"The URL may have at most {max_length} characters, not {len(url)}.")
    target = split_target(url)
    _judge_host(target, allowed_networks)
    if len(target.url) > max_length:
        raise UnusableURL("length", f"The URL may have at most {max_length} characters once it is escaped.")
    return target.url


def split_target(url: str) -> Target:
    """Take a URL apart, strictly; raises UnusableURL. Spelling only: whether the host may be reached is not judged."""
    parts = _split(url)
    scheme = parts["scheme"].lower()
    if scheme not in DEFAULT_PORTS:
        raise UnusableURL("scheme", "The URL must start with https:// or http://.")
    authority = _AUTHORITY.fullmatch(parts["authority"])
    if authority is None:
        raise UnusableURL("host", "The host must be a name or an address, with at most one port behind it.")
    host, address = _read_host(authority["host"])
    port = _read_port(authority["port"], scheme)
    return Target(scheme, host, port, _read_path(parts["path"]) + _read_query(parts["query"]), address)


def _split(url: str) -> re.Match[str]:
    # Parsers disagree on backslashes, tabs and line ends inside a host, so one host gets judged and another dialled.
    if not url.isprintable() or " " in url or "\\" in url:
        raise UnusableURL("text", "The URL must not hold white space, control or invisible characters, or a backslash.")
    base, hash_sign, _ = url.partition("#")
    if hash_sign:
        # It never goes on the wire: what relies on it would quietly go to another place than the owner meant.
        raise UnusableURL("fragment", "The URL must not hold a fragment (#…), for it is never sent to the receiver.")
    parts = _PARTS.fullmatch(base)
    if parts is None:
        raise UnusableURL("form", "The URL must look like https://host/path.")
    if "@" in parts["authority"]:
        raise UnusableURL(
            "credentials", "The URL must not hold a user name or password: use an Authorization header instead."
        )
    return parts


def _judge_host(target: Target, allowed_networks: Sequence[Network]) -> None:
    if target.address is not None:
        fault = address_fault(target.address, allowed_networks)
        if fault:
            raise UnusableURL("address", fault)
        return
    meant = _LOOPBACK if target.host.endswith(".localhost") else _LOCAL_NAMES.get(target.host, ())
    if meant and not any(address in network for address in meant for network in allowed_networks):
        raise UnusableURL("name", "The host is a name of this machine or of its cloud's metadata service.")


def _read_port(text: str | None, scheme: str) -> int:
    if not text:
        return DEFAULT_PORTS[scheme]
    if len(text) > 5 or not 1 <= int(text) <= 65535:
        raise UnusableURL("port", "The port must be between 1 and 65535.")
    return int(text)


def _read_host(text: str) -> tuple[str, Address | None]:
    if text.startswith("["):
        address = _read_ipv6(text[1:-1])
        return str(address), address
    host = _ascii_host(text).removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise UnusableURL(
            "host", "The host must be a name of at most 253 letters, digits, _ and -, in parts of 1 to 63."
        )
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        return host, _read_ipv4(host)
    return host, None


def _ascii_host(text: str) -> str:
    if text.isascii():
        return text.lower()
    try:
        # Mapped as a whole first: full-width digits and dots become plain ones, which must then be judged.
        labels = idna.uts46_remap(text, std3_rules=False).split(".")
        return ".".join(label if label.isascii() else idna.alabel(label).decode("ascii") for label in labels)
    except UnicodeError:
        raise UnusableURL("host", "The host is not a valid internationalised name.") from None


def _read_ipv4(host: str) -> IPv4Address:
    try:
        return IPv4Address(host)
    except AddressValueError:
        raise UnusableURL(
            "ipv4-spelling", "An IPv4 address must be four decimal numbers of 0 to 255, without leading zeros."
        ) from None


def _read_ipv6(text: str) -> Address:
    if "%" in text:
        raise UnusableURL(
            "host", "An IPv6 address must not name a zone (%…), which means something on one machine only."
        )
    try:
        address = IPv6Address(text)
    except AddressValueError:
        raise UnusableURL("host", "What stands in brackets must be an IPv6 address.") from None
    # The kernel dials the IPv4 address, and Python versions differ in how they print the mapped form.
    return address.ipv4_mapped or address


def _read_path(text: str) -> str:
    """Escaped, without dot segments, with exactly one leading slash: what the HTTP client would make of it anyway."""
    kept: list[str] = []
    segments = _escape(text, _SAFE_IN_PATH).split("/")
    for segment in segments:
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept).lstrip("/")


def _read_query(text: str | None) -> str:
    return "?" + _escape(text, _SAFE_IN_QUERY) if text else ""


def _escape(text: str, safe: str) -> str:
    if _STRAY_PERCENT.search(text):
        raise UnusableURL("path", "A percent sign must start an escape such as %20; write %25 for the sign itself.")
    return _ESCAPE.sub(_normal_escape, quote(text, safe=safe))


def _normal_escape(escape: re.Match[str]) -> str:
    """RFC 3986, section 6.2.2: escapes in upper case, and none for characters that need none."""
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()
