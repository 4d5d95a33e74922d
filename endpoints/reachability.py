"""Which IP addresses may be dialled. Pure.

The tables are our own, because `ipaddress` changed its answers several times within supported Python versions; what the
running Python does not call global is refused on top. Sources: the IANA special-purpose address registries for IPv4 and
IPv6, RFC 6890 and the RFCs named below.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_REFUSED_IPV4 = {
    IPv4Network(text): kind
    for text, kind in {
        "0.0.0.0/8": "the unspecified address",
        "10.0.0.0/8": "a private address",
        "100.64.0.0/10": "shared by a carrier's customers (RFC 6598)",
        "127.0.0.0/8": "a loopback address",
        "169.254.0.0/16": "a link-local address, where clouds serve instance metadata",
        "168.63.129.16/32": "where Azure serves its virtual machines' agents",
        "172.16.0.0/12": "a private address",
        "192.0.0.0/24": "reserved for protocols (RFC 6890)",
        "192.0.2.0/24": "reserved for documentation",
        "192.31.196.0/24": "reserved for AS112 (RFC 7535)",
        "192.52.193.0/24": "reserved for multicast tunnels (RFC 7450)",
        "192.88.99.0/24": "a 6to4 relay (RFC 7526)",
        "192.168.0.0/16": "a private address",
        "192.175.48.0/24": "reserved for AS112 (RFC 7534)",
        "198.18.0.0/15": "reserved for benchmarking (RFC 2544)",
        "198.51.100.0/24": "reserved for documentation",
        "203.0.113.0/24": "reserved for documentation",
        "224.0.0.0/4": "a multicast address",
        "240.0.0.0/4": "reserved, or broadcast",
    }.items()
}
# Everything outside global unicast (2000::/3, RFC 4291) is refused as well; these only have a better name for it.
_REFUSED_IPV6 = {
    IPv6Network(text): kind
    for text, kind in {
        "::/128": "the unspecified address",
        "::1/128": "a loopback address",
        "::/96": "an IPv4-compatible form, which is long deprecated (RFC 4291)",
        # Where the IPv4 part sits in this one is up to each network, so it cannot be judged (RFC 8215).
        "64:ff9b:1::/48": "a network's own IPv4 translation",
        "2001::/32": "Teredo, which hides an IPv4 address (RFC 4380)",
        "2001::/23": "reserved for protocols (RFC 2928)",
        "2001:db8::/32": "reserved for documentation",
        "2002::/16": "6to4, which hides an IPv4 address (RFC 3056)",
        "2620:4f:8000::/48": "reserved for AS112 (RFC 7534)",
        "3fff::/20": "reserved for documentation (RFC 9637)",
        "fc00::/7": "unique local, one of the private addresses of IPv6",
        "fe80::/10": "a link-local address",
        "fec0::/10": "a site-local address (RFC 3879)",
        "ff00::/8": "a multicast address",
    }.items()
}
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def address_fault(address: str | Address, allowed_networks: Sequence[Network] = ()) -> str | None:
    """Why this address may not be dialled, in a sentence that does not name it; None when it may.

    IPv4 addresses inside IPv6 ones (mapped, NAT64) are unwrapped and judged as what they reach. An address inside one
    of `allowed_networks`, as it stands or unwrapped, is allowed whatever else it is.
    """
    try:
        given = ip_address(address)
    except ValueError:
        return "This is not an IP address."
    reached = _unwrapped(given)
    if any(candidate in network for candidate in {given, reached} for network in allowed_networks):
        return None
    kind = _refused_kind(reached)
    return f"The address may not be dialled: it is {kind}." if kind else None


def _unwrapped(address: Address) -> Address:
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        # RFC 6052: with the well-known prefix the last 32 bits are the IPv4 address.
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address


def _refused_kind(address: Address) -> str | None:
    if isinstance(address, IPv6Address) and address.scope_id:
        return "bound to a zone of one machine"
    table = _REFUSED_IPV4 if isinstance(address, IPv4Address) else _REFUSED_IPV6
    for network, kind in table.items():
        if address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return "outside the global unicast range of IPv6"
    return None if address.is_global else "not globally reachable"
