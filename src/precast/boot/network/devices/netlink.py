"""Changes the kernel's network devices, addresses and routes, over a netlink socket (rtnetlink(7)): a minimal image has no `ip` program."""

import ipaddress
import os
import socket
import struct

ANSWER_S = 2.0
_NEWLINK, _NEWADDR, _DELADDR, _NEWROUTE, _DELROUTE = 16, 20, 21, 24, 25
_REQUEST, _ACK, _REPLACE, _CREATE = 0x1, 0x4, 0x100, 0x400
_ERROR = 2
_UP = 0x1
_IFLA_IFNAME = 3
_IFA_ADDRESS, _IFA_LOCAL, _IFA_CACHEINFO = 1, 2, 6
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PRIORITY = 1, 4, 5, 6
_MAIN, _BOOT, _UNIVERSE, _LINK_SCOPE, _UNICAST = 254, 3, 0, 253, 1
_ONLINK = 0x4
_HEADER = struct.Struct("=LHHLL")  # length, type, flags, sequence, port
_LINK = struct.Struct("=BxHiLL")  # family, type, index, flags, change
_ADDRESS = struct.Struct("=BBBBi")  # family, prefix, flags, scope, index
_ROUTE = struct.Struct("=BBBBBBBBL")  # family, to, from, tos, table, protocol, scope, type, flags
_NUMBER = struct.Struct("=L")


# A name, or an index, which stays the same when the device is renamed.
Device = str | int


def _index(device: Device) -> int:
    return device if isinstance(device, int) else socket.if_nametoindex(device)


def set_up(device: Device, is_up: bool = True) -> None:
    """Bring a device up or down. Raises OSError."""
    _request(_NEWLINK, 0, _LINK.pack(socket.AF_UNSPEC, 0, _index(device), _UP if is_up else 0, _UP))


def rename_device(device: Device, new: str) -> None:
    """Rename a device. It is taken down for that and stays down. Raises OSError."""
    set_up(device, is_up=False)
    body = _LINK.pack(socket.AF_UNSPEC, 0, _index(device), 0, 0)
    _request(_NEWLINK, 0, body + _pack_attribute(_IFLA_IFNAME, new.encode() + b"\0"))


def add_address(device: Device, address: str, valid_s: int | None = None) -> None:
    """Add an address (as CIDR) to a device; the kernel removes it after `valid_s`, even if this process is killed. Raises OSError."""
    body = _pack_address(device, address)
    if valid_s is not None:
        body += _pack_attribute(_IFA_CACHEINFO, struct.pack("=LLLL", valid_s, valid_s, 0, 0))
    _request(_NEWADDR, _CREATE | _REPLACE, body)


def remove_address(device: Device, address: str) -> None:
    """Remove an address and the routes that came with it. Raises OSError."""
    _request(_DELADDR, 0, _pack_address(device, address))


def add_route(device: Device, to: str, via: str | None, metric: int, is_on_link: bool = False) -> None:
    """Add a route through a device. Raises OSError."""
    _request(_NEWROUTE, _CREATE | _REPLACE, _pack_route(device, to, via, metric, is_on_link))


def remove_route(device: Device, to: str, via: str | None, metric: int) -> None:
    """Remove a route. Raises OSError."""
    _request(_DELROUTE, 0, _pack_route(device, to, via, metric, False))


def _pack_address(device: Device, address: str) -> bytes:
    given = ipaddress.ip_interface(address)
    family = socket.AF_INET6 if given.version == 6 else socket.AF_INET
    scope = _LINK_SCOPE if given.ip.is_link_local else _UNIVERSE
    body = _ADDRESS.pack(family, given.network.prefixlen, 0, scope, _index(device))
    return body + _pack_attribute(_IFA_LOCAL, given.ip.packed) + _pack_attribute(_IFA_ADDRESS, given.ip.packed)


def _pack_route(device: Device, to: str, via: str | None, metric: int, is_on_link: bool) -> bytes:
    network = ipaddress.ip_network(to)
    family = socket.AF_INET6 if network.version == 6 else socket.AF_INET
    scope = _LINK_SCOPE if via is None else _UNIVERSE
    flags = _ONLINK if is_on_link else 0
    body = _ROUTE.pack(family, network.prefixlen, 0, 0, _MAIN, _BOOT, scope, _UNICAST, flags)
    if network.prefixlen:
        body += _pack_attribute(_RTA_DST, network.network_address.packed)
    if via is not None:
        body += _pack_attribute(_RTA_GATEWAY, ipaddress.ip_address(via).packed)
    body += _pack_attribute(_RTA_OIF, _NUMBER.pack(_index(device)))
    return body + _pack_attribute(_RTA_PRIORITY, _NUMBER.pack(metric))


def _pack_attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + bytes(-length % 4)


def _request(kind: int, flags: int, body: bytes) -> None:
    """Send one request and wait for the kernel's acknowledgement. Raises OSError if the kernel refuses."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE) as asked:
        asked.settimeout(ANSWER_S)
        asked.bind((0, 0))
        asked.send(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | _ACK | flags, 1, 0) + body)
        answer = asked.recv(1 << 16)
    _, answered, *_ = _HEADER.unpack_from(answer)
    (code,) = struct.unpack_from("=i", answer, _HEADER.size)
    if answered == _ERROR and code:
        raise OSError(-code, os.strerror(-code))
