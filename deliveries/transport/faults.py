"""What went wrong on the way, in our own words.

Every sentence here is written from the class and code of an exception, never from its text: the text of requests and
urllib3 quotes the whole URL, and for many receivers the path or the query is the credential.
"""

import errno
import http.client
import socket
import ssl
import traceback

from deliveries.outcomes import Failure

# X509_V_ERR_* of OpenSSL's <openssl/x509_vfy.h>.
CERTIFICATE_CHECKS = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    18: "the certificate is self-signed",
    19: "the certificate chain ends in a self-signed certificate that is not trusted",
    20: "the issuer of the certificate is not trusted, or an intermediate certificate is missing",
    21: "the certificate chain is incomplete",
    23: "the certificate was revoked",
    62: "the certificate is for another host name",
    64: "the certificate is for another IP address",
}

CONNECT_ERRORS = {
    errno.ECONNREFUSED: "connection refused by",
    errno.ECONNRESET: "connection reset by",
    errno.ENETUNREACH: "no route to the network of",
    errno.EHOSTUNREACH: "no route to",
    errno.EMFILE: "no file descriptor left to connect to",
}


class Fault(Exception):
    """A request that ended without a status: the failure class and a sentence that is safe to store and show."""

    def __init__(self, failure: Failure, sentence: str) -> None:
        super().__init__(sentence)
        self.failure = failure
        self.sentence = sentence


def authority(address: str, port: int) -> str:
    """`address:port`, with brackets around an IPv6 address."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def lookup_fault(error: Exception, host: str) -> Fault:
    """The name did not become addresses."""
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
        return Fault(Failure.DNS, f"the name server gave no answer about {host}")
    if isinstance(error, socket.gaierror) and error.errno in (socket.EAI_NONAME, socket.EAI_NODATA):
        return Fault(Failure.DNS, f"there is no address for {host}")
    if isinstance(error, UnicodeError):
        return Fault(Failure.DNS, f"{host} cannot be written as a DNS name")
    return Fault(Failure.DNS, f"looking up {host} failed ({type(error).__name__})")


def connect_fault(error: OSError, host: str, address: str, port: int, timeout_seconds: float) -> Fault:
    """No connection came about, so nothing was sent."""
    target = f"{authority(address, port)} ({host})"
    if isinstance(error, TimeoutError):
        return Fault(Failure.TIMEOUT, f"no connection to {target} within {timeout_seconds:g} s")
    words = CONNECT_ERRORS.get(error.errno or 0)
    if words is None:
        return Fault(Failure.CONNECTION, f"cannot connect to {target} ({type(error).__name__})")
    return Fault(Failure.CONNECTION, f"{words} {target}")


def handshake_fault(error: OSError, host: str, timeout_seconds: float) -> Fault:
    """Connected, but TLS did not come about, so nothing was sent."""
    if isinstance(error, ssl.SSLCertVerificationError):
        check = CERTIFICATE_CHECKS.get(error.verify_code, f"certificate check {error.verify_code} failed")
        return Fault(Failure.TLS, f"TLS with {host}: {check}")
    if isinstance(error, ssl.SSLEOFError):
        return Fault(Failure.TLS, f"{host} closed the connection during the TLS handshake")
    if isinstance(error, ssl.SSLError):
        return Fault(Failure.TLS, f"TLS with {host} failed: {_tls_reason(error)}")
    if isinstance(error, TimeoutError):
        return Fault(Failure.TIMEOUT, f"no TLS handshake with {host} within {timeout_seconds:g} s")
    return Fault(Failure.CONNECTION, f"{host} broke the connection during the TLS handshake")


def answer_fault(error: Exception, host: str, *, timeout_seconds: float) -> Fault:
    """The request went out, but no status came back."""
    if isinstance(error, TimeoutError):
        return Fault(Failure.TIMEOUT, f"no answer from {host} within {timeout_seconds:g} s")
    if isinstance(error, http.client.RemoteDisconnected):
        return Fault(Failure.UNKNOWN, f"{host} closed the connection without an answer")
    if isinstance(error, ConnectionError):
        return Fault(Failure.UNKNOWN, f"{host} reset the connection after the request was sent")
    if isinstance(error, ssl.SSLError):
        return Fault(Failure.UNKNOWN, f"TLS with {host} broke after the request was sent: {_tls_reason(error)}")
    if isinstance(error, http.client.HTTPException):
        return Fault(Failure.UNKNOWN, f"{host} answered something that is not HTTP/1.1")
    return Fault(Failure.UNKNOWN, f"{host} broke the connection after the request was sent")


def surprise_fault(error: Exception, *, wrote: bool) -> Fault:
    """A mistake of ours. It names where, and leaves out what the exception says."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
    failure = Failure.UNKNOWN if wrote else Failure.INTERNAL
    return Fault(failure, f"the transport failed with {type(error).__name__} in {place}")


def _tls_reason(error: ssl.SSLError) -> str:
    """OpenSSL's own reason code as words, e.g. `wrong version number`."""
    return (error.reason or "no reason given").replace("_", " ").lower()
