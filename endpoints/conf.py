"""The settings this app reads, typed. Refused at boot by `endpoints.checks`."""

import ipaddress
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network

from django.conf import settings


def allowed_networks() -> tuple[IPv4Network | IPv6Network, ...]:
    """Networks exempt from the address guard (`HOLDFAST_ALLOWED_NETWORKS`); empty in production.

    Raises ValueError naming the entry that is not a network in CIDR notation.
    """
    return _networks(tuple(getattr(settings, "HOLDFAST_ALLOWED_NETWORKS", ())))


@lru_cache(maxsize=8)
def _networks(texts: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    networks = []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text))
        except ValueError as error:
            raise ValueError(f"HOLDFAST_ALLOWED_NETWORKS: {text!r} is not a network such as 10.0.0.0/8.") from error
    return tuple(networks)
