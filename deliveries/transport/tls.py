"""TLS contexts. Verification is always on; there is no switch.

An endpoint with a private certificate authority brings its own CA certificates, which then replace the public ones.
"""

import functools
import ssl
from datetime import UTC, datetime

import certifi

from deliveries.outcomes import Failure
from deliveries.transport.deadline import TimedTLSSocket
from deliveries.transport.faults import Fault


@functools.lru_cache(maxsize=256)
def tls_context(ca_pem: str = "") -> ssl.SSLContext:
    """The context for endpoints that trust these CA certificates (PEM), or the public ones when there are none.

    Building one takes milliseconds, so they are kept. Raises Fault (internal) when the PEM text cannot be read.
    """
    try:
        context = ssl.create_default_context(cadata=ca_pem) if ca_pem else _public_context()
    except (ssl.SSLError, ValueError, TypeError):
        # Of what is not ASCII, Python says that it has the wrong type.
        raise Fault(Failure.INTERNAL, "the CA certificate of this endpoint is not readable PEM") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # An intermediate certificate may serve as the trusted one: operators paste what their receiver shows.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    # Python 3.13 turns this on by default and with it refuses many private CAs; every version gets the same verdict.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.sslsocket_class = TimedTLSSocket
    return context


def certificate_end(words: str) -> datetime | None:
    """The end of a certificate from OpenSSL's words for it (`Jan  5 09:34:43 2027 GMT`); None when there is none."""
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(words), UTC) if words else None


def _public_context() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certifi.where())
