"""The capabilities of data sources, a closed list: sources declare which they offer, modules which they need or use.

Each has one type of value, whatever the source, so a module does not depend on the source of a value.
"""

import enum


class Capability(enum.Enum):
    """A piece of information about the machine. The enum value is its displayed name; the comment gives the type that `get` returns."""

    INSTANCE_ID = "instance id"  # str: changes when the disk is booted as another machine
    HOSTNAME = "hostname"  # str: with or without its domain
    PUBLIC_KEYS = "public keys"  # tuple[str, ...]: lines of an authorized_keys file, for the default user
    USER_DATA = "user data"  # bytes: as the user supplied it, possibly compressed or multipart
    VENDOR_DATA = "vendor data"  # bytes: the same from the platform; user data overrides it
    NETWORK_CONFIG = "network config"  # dict: a document of version 1 or 2, with its key `version`
    ZONE = "zone"  # str
    REGION = "region"  # str
    PASSWORD_GET = "password get"  # noqa: S105 - a name. str: the password that the platform wants for the default user
    PASSWORD_POST = "password post"  # noqa: S105 - a name. Callable[[bytes], None], from any thread: tells the platform an encrypted one
    READY_POST = "ready post"  # Callable[[], None], from any thread: tells the platform that the machine is set up
    CERTIFICATES = "certificates"  # tuple[str, ...]: PEM
    FILES = "files"  # tuple[InjectedFile, ...]: files that the platform puts into the file system
    PLATFORM = "platform"  # str: the name of the cloud, as cloud-init calls it (`ec2`, `openstack`, …)
    METADATA = "metadata"  # dict: the source's whole metadata, for templates

    @property
    def is_private(self) -> bool:
        """Whether it decides who controls the machine: only the identity may give it, or a source in trusted_sources."""
        return self in _PRIVATE


_PRIVATE = frozenset(
    {
        Capability.USER_DATA,
        Capability.VENDOR_DATA,
        Capability.PUBLIC_KEYS,
        Capability.PASSWORD_GET,
        Capability.PASSWORD_POST,
        Capability.READY_POST,
        Capability.CERTIFICATES,
        Capability.FILES,
    }
)
