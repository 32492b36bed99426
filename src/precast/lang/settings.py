"""The settings of one compile besides its inputs: its strictness, and which facts may stay holes."""

from typing import Literal

import msgspec

Strictness = Literal["off", "warning", "error"]
MissingFacts = Literal["ignore", "warning", "error"]

# The version of Puppet whose language and catalogs we implement; modules that ask for Puppet's version get it.
PUPPET_VERSION = "7.23.0"

# Facts that distinguish one node from another. If code only interpolates them or passes them on, they stay holes in the catalog,
# and similar nodes share one skeleton.
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
    # A file, or a directory whose manifests are all used, at any depth.
    manifest: str = "manifests"
    # What a compile does if the code reads a fact that the node does not have and a module adds in Ruby or as external data.
    missing_module_facts: MissingFacts = "ignore"
    # What a compile does if the node needs a Puppet to apply the catalog, and its facts say that it has none.
    types_without_puppet: MissingFacts = "ignore"
    # Whether exported resources are collected. Without it a compile warns of exports and collectors, as Puppet does.
    storeconfigs: bool = False

    @staticmethod
    def puppet8(**others: object) -> "Settings":
        """The settings of Puppet 8: errors where Puppet 7 warned, also for unknown variables."""
        return Settings(strict="error", strict_variables=True, **others)  # type: ignore[arg-type]


class LogLine(msgspec.Struct, frozen=True):
    """A log line of an evaluation. A message may contain values that are not known yet."""

    level: str
    message: object
