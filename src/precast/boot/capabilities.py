"""What a data source can tell about the machine. Sources declare what they offer, modules what they need or use: one closed list.

The value of each has one type, whatever the source, so that a module never asks where it came from.
"""

import enum


class Capability(enum.Enum):
    """One thing to know about the machine. The value is how people read it; the comment says what `get` gives."""

    INSTANCE_ID = "instance id"  # str: changes when the disk is booted as another machine
    HOSTNAME = "hostname"  # str: short or with its domain
    PUBLIC_KEYS = "public keys"  # tuple[str, ...]: lines of an authorized_keys file, for the default user
    USER_DATA = "user data"  # bytes: as the user gave it, perhaps compressed or in parts
    VENDOR_DATA = "vendor data"  # bytes: the same from the platform; the user's word wins over it
    NETWORK_CONFIG = "network config"  # dict: a document of version 1 or 2, with its key `version`
    ZONE = "zone"  # str
    REGION = "region"  # str
    PASSWORD_GET = "password get"  # noqa: S105 - a name. str: the password that the platform wants for the default user
    PASSWORD_POST = "password post"  # noqa: S105 - a name. Callable[[bytes], None], from any thread: tells the platform an encrypted one
    READY_POST = "ready post"  # Callable[[], None], from any thread: tells the platform that the machine is set up
    CERTIFICATES = "certificates"  # tuple[str, ...]: PEM
    FILES = "files"  # tuple[InjectedFile, ...]: what the platform puts into the file system
    PLATFORM = "platform"  # str: the name of the cloud, as cloud-init calls it (`ec2`, `openstack`, …)
    METADATA = "metadata"  # dict: everything the source said, for templates

    @property
    def is_private(self) -> bool:
        """Whether it decides who commands the machine: never taken from another source than the identity unless that is listed."""
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
