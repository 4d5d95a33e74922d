"""How each provider proves that a webhook is its own: one file a scheme, all pure, found by name.

SCHEMES[source.scheme].verify(request, secrets, options)
"""

from collections.abc import Mapping
from types import MappingProxyType

from inbox.schemes.adyen import Adyen
from inbox.schemes.generic_hmac import GenericHmac
from inbox.schemes.github import GitHub
from inbox.schemes.modern_treasury import ModernTreasury
from inbox.schemes.plaid import Plaid
from inbox.schemes.scheme import Reason, Refused, Request, Scheme, Verified
from inbox.schemes.shopify import Shopify
from inbox.schemes.slack import Slack
from inbox.schemes.standard_webhooks import StandardWebhooks
from inbox.schemes.stripe import Stripe

_ALL: tuple[Scheme, ...] = (
    StandardWebhooks(),
    Stripe(),
    GitHub(),
    Slack(),
    Shopify(),
    ModernTreasury(),
    Adyen(),
    Plaid(),
    GenericHmac(),
)

SCHEMES: Mapping[str, Scheme] = MappingProxyType({scheme.name: scheme for scheme in _ALL})
"""Every scheme by the name that a source carries."""

__all__ = ["SCHEMES", "Reason", "Refused", "Request", "Scheme", "Verified"]
