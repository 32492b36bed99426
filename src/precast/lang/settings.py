"""What one compile is told besides its inputs: how strict it is, and which facts stay open."""

from typing import Literal

import msgspec

Strictness = Literal["off", "warning", "error"]

# Facts that tell one node from another. Only interpolated or handed on, they stay open and like nodes share one skeleton.
# Whose language and catalogs ours are: what modules that ask for a version are told.
PUPPET_VERSION = "7.23.0"

IDENTITY_FACTS: tuple[str, ...] = (
    "certname",
    "clientcert",
    "domain",
    "fqdn",
    "hostname",
    "ipaddress",
    "ipaddress6",
    "ipaddress6_*",
    "ipaddress_*",
    "macaddress",
    "macaddress_*",
    "uuid",
    "dmi.product.uuid",
    "dmi.product.serial_number",
    "networking.domain",
    "networking.fqdn",
    "networking.hostname",
    "networking.interfaces.*.ip",
    "networking.interfaces.*.ip6",
    "networking.interfaces.*.mac",
    "networking.ip",
    "networking.ip6",
    "networking.mac",
    "ssh.*.key",
)
IDENTITY_TRUSTED: tuple[str, ...] = ("certname", "hostname", "domain")


class Settings(msgspec.Struct, frozen=True):
    """The defaults are those of Puppet 7.23."""

    strict: Strictness = "warning"
    strict_variables: bool = False
    identity_facts: tuple[str, ...] = IDENTITY_FACTS
    identity_trusted: tuple[str, ...] = IDENTITY_TRUSTED
    environment: str = "production"
    module_path: tuple[str, ...] = ("modules",)
    # A file, or a directory with all manifests below it.
    manifest: str = "manifests"

    @staticmethod
    def puppet8(**others: object) -> "Settings":
        """Errors where Puppet 7 warned, unknown variables among them."""
        return Settings(strict="error", strict_variables=True, **others)  # type: ignore[arg-type]


class LogLine(msgspec.Struct, frozen=True):
    """What an evaluation said, in the order it was said. A message may hold values that are not known yet."""

    level: str
    message: object
