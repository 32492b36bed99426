"""TLS to a PostgreSQL server: verified unless the location says otherwise, or names this machine.

Without `sslmode` the driver would prefer TLS but accept any certificate, and no TLS at all: then anybody between the two machines reads
and changes what the server stores. So a location that names another machine means `verify-full`: the certificate must be issued by a
trusted authority (`sslrootcert`, by default those of the system) for the name that the location has. A weaker mode must be
written into the location, and is reported. Whether a location is local is decided by the text, never by resolving a name.
"""

import ipaddress
import os
import ssl
from collections.abc import Mapping

from precast.base.errors import PrecastError
from precast.store import issues
from precast.store.engine.location import PostgresLocation

VERIFIED = "verify-full"
SYSTEM = "system"
_OURS = (VERIFIED, "verify-ca")
# What each weaker mode leaves open.
_WEAKNESSES = {
    "disable": "does not encrypt the connection",
    "allow": "does not verify the server, and may not encrypt the connection",
    "prefer": "does not verify the server, and may not encrypt the connection",
    "require": "does not verify the server",
    "verify-ca": "does not verify the name of the server",
}


def find_weakness(location: PostgresLocation, environment: Mapping[str, str] = os.environ) -> str:
    """What the location leaves open, in one line; empty for a verified or a local connection. Raises as `check_mode`."""
    check_mode(location)
    mode = location.parameters.get("sslmode", VERIFIED)
    if is_local(location, environment) or mode == VERIFIED:
        return ""
    return f"sslmode={mode} {_WEAKNESSES[mode]}: use sslmode=verify-full"


def check_mode(location: PostgresLocation) -> None:
    """Raises InputError STORE-018 for a mode that does not exist; the driver would read some of them as another."""
    mode = location.parameters.get("sslmode", VERIFIED)
    if mode != VERIFIED and mode not in _WEAKNESSES:
        raise issues.BAD_SSLMODE.error(
            mode=mode, location=location, modes=", ".join((VERIFIED, *reversed(_WEAKNESSES)))
        )


def describe(location: PostgresLocation, environment: Mapping[str, str] = os.environ) -> str:
    """How the connection is protected, in one line."""
    if is_local(location, environment):
        return "the database is on this machine"
    return find_weakness(location, environment) or "TLS, and the server's certificate and name are verified"


def is_local(location: PostgresLocation, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether every host is a Unix socket or a loopback address as it is written. The driver's own variables count, too."""
    parameters = location.parameters
    if location.hosts:
        hosts = location.hosts
    elif "service" in parameters or "PGSERVICE" in environment:
        return False  # a file names the host
    else:
        hosts = [host for host in environment.get("PGHOST", "").split(",") if host]
    return all(map(_is_local_host, hosts))


def make_context(location: PostgresLocation, environment: Mapping[str, str] = os.environ) -> ssl.SSLContext | None:
    """The context for a verified connection; None leaves everything to the driver, as the location says.

    Raises UnavailableError STORE-017 if a file of certificates cannot be read.
    """
    parameters = location.parameters
    mode = parameters.get("sslmode", None if is_local(location, environment) else VERIFIED)
    if mode not in _OURS:
        return None
    root = parameters.get("sslrootcert") or environment.get("PGSSLROOTCERT") or SYSTEM
    certificate = parameters.get("sslcert") or environment.get("PGSSLCERT")
    key = parameters.get("sslkey") or environment.get("PGSSLKEY")
    try:
        context = ssl.create_default_context(cafile=None if root == SYSTEM else root)
        if certificate:
            context.load_cert_chain(certificate, key, parameters.get("sslpassword", ""))
    except OSError as error:
        reason = f"cannot use the certificates that it names: {error.strerror or error}"
        raise issues.DATABASE_NOT_TRUSTED.error(location=location, reason=reason) from None
    context.check_hostname = mode == VERIFIED
    context.set_alpn_protocols(["postgresql"])
    return context


def explain(location: PostgresLocation, error: Exception) -> PrecastError | None:
    """The error to show if TLS is the cause that a connection failed; None for any other cause."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return issues.DATABASE_NOT_TRUSTED.error(location=location, reason=error.verify_message or error.reason)
    if isinstance(error, ConnectionError) and "SSL" in str(error):
        return issues.DATABASE_NOT_TRUSTED.error(location=location, reason="the server does not offer TLS")
    if isinstance(error, ssl.SSLError):
        return issues.DATABASE_NOT_TRUSTED.error(location=location, reason=error.reason or "the handshake failed")
    return None


def _is_local_host(host: str) -> bool:
    if host.startswith("/") or host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
