"""Decides which repositories code may be fetched from.

A Puppetfile is written by everyone who may push to a repository. A server therefore fetches for it only over https and ssh, only from
directories that its settings name, and from no address of the server itself or of its network segment, where the metadata of clouds and
services without passwords are. Names are resolved here, and git gets the addresses that were checked.
"""

import ipaddress
import os
import socket
from collections.abc import Sequence
from pathlib import Path

import msgspec

from precast.base.repository_addresses import RepositoryAddress, parse_address, redact_address
from precast.services.code import issues

# Services of clouds that answer every process of a machine, at addresses that are not link-local.
METADATA_ADDRESSES = frozenset(
    map(ipaddress.ip_address, ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"))
)


class AddressPolicy(msgspec.Struct, frozen=True):
    """What a fetch may reach. The defaults are those of a server for code that others wrote."""

    schemes: tuple[str, ...] = ("https", "ssh")
    # Directories whose repositories may be named by their paths.
    directories: tuple[str, ...] = ()
    # Hosts that may have any address, also one of this machine.
    hosts: tuple[str, ...] = ()
    # A person's own machine: any path and any host.
    is_personal: bool = False


# A person deploys from a path, or over a connection that nobody can change; modules of theirs may also come otherwise.
OWN_REPOSITORY = AddressPolicy(is_personal=True)
PERSONAL = AddressPolicy(("https", "http", "ssh", "git"), is_personal=True)


def check_address(text: str, policy: AddressPolicy, base: Path | None = None) -> RepositoryAddress:
    """Parse an address and check it, without resolving its host. A relative path is relative to `base`. Raises InputError ENV-020."""
    try:
        address = parse_address(text)
    except ValueError as error:
        raise _refuse(text, str(error)) from None
    if address.is_local:
        return _check_path(address, policy, base)
    if address.scheme not in policy.schemes:
        raise _refuse(text, f"{address.scheme} is not allowed here, only {' and '.join(policy.schemes)}")
    return address


def resolve_host(address: RepositoryAddress, policy: AddressPolicy) -> list[str]:
    """The addresses of a host that git may connect to; empty if git may resolve it itself. It waits for the network.

    Raises InputError ENV-020 if one of them is not allowed, UnavailableError ENV-022 if the name does not resolve.
    """
    if address.is_local or policy.is_personal or address.host in policy.hosts:
        return []
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise issues.GIT_FAILED.error(
            repository=redact_address(address.text), reason=f"the host {address.host} does not resolve: {error}"
        ) from None
    resolved = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))
    for text in resolved:
        if is_forbidden(text):
            raise _refuse(
                address.text, f"{address.host} is {text}, an address of this server or of its network segment"
            )
    return resolved


def is_forbidden(text: str) -> bool:
    """Whether an address leads to this machine, to its network segment or to the metadata of a cloud."""
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            return is_forbidden(str(inner))
        if address in ipaddress.ip_network("64:ff9b::/96"):
            return is_forbidden(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
    return (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address.is_reserved
        or address in ipaddress.ip_network("0.0.0.0/8")
        or address in METADATA_ADDRESSES
    )


def _check_path(address: RepositoryAddress, policy: AddressPolicy, base: Path | None) -> RepositoryAddress:
    path = Path(os.path.expanduser(address.path)) if policy.is_personal else Path(address.path)  # noqa: PTH111 - a plain text
    whole = path if path.is_absolute() else (base / path if base is not None and policy.is_personal else None)
    if whole is None:
        raise _refuse(address.text, "it is a relative path")
    real = whole.resolve()
    if not policy.is_personal and not _is_below(real, policy.directories):
        raise _refuse(address.text, "it is a path of this machine")
    return address._replace(path=str(real))


def _is_below(path: Path, directories: Sequence[str]) -> bool:
    return any(path.is_relative_to(Path(directory).resolve()) for directory in directories)


def _refuse(text: str, reason: str) -> Exception:
    return issues.BAD_REPOSITORY.error(repository=repr(redact_address(text)[:200]), reason=reason)
