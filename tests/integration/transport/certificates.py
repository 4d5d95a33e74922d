"""Certificates for receivers of tests: good ones and the usual broken ones."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """A private certificate authority."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name("Test authority")
        self.certificate = _build(self.name, self.name, self.key, self.key, authority=True)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def server_context(
        self, folder: Path, *names: str, expired: bool = False, self_signed: bool = False, end: datetime | None = None
    ) -> ssl.SSLContext:
        """The receiver's side of TLS, with a certificate for these names."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer, issuer_key = (_name(names[0]), key) if self_signed else (self.name, self.key)
        certificate = _build(_name(names[0]), issuer, key, issuer_key, names=names, expired=expired, end=end)
        path = folder / "server.pem"
        path.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _build(subject, issuer, key, issuer_key, *, names=(), authority=False, expired=False, end=None) -> x509.Certificate:
    now = datetime.now(UTC)
    end = end or (now - timedelta(days=1) if expired else now + timedelta(days=1))
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
