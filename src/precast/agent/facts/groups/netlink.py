"""Interfaces and addresses from the kernel, over a netlink socket (rtnetlink(7)).

/sys/class/net shows the network namespace in which /sys was mounted; netlink always shows that of this process. No program is started.
"""

import os
import socket
import struct
from collections.abc import Iterator

from precast.agent.facts.machine import Address, Link

ANSWER_S = 2.0

_GETLINK, _GETADDR = 18, 22
_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_ROOT | NLM_F_MATCH
_ERROR, _DONE = 2, 3
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MTU, _IFLA_MASTER = 1, 3, 4, 10
_IFA_ADDRESS, _IFA_LOCAL, _IFA_LABEL, _IFA_FLAGS = 1, 2, 3, 8

_HEADER = struct.Struct("=LHHLL")  # length, type, flags, sequence, port
_LINK = struct.Struct("=BxHiLL")  # family, type, index, flags, change
_ADDRESS = struct.Struct("=BBBBi")  # family, prefix, flags, scope, index
_ATTRIBUTE = struct.Struct("=HH")  # length, type
_NUMBER = struct.Struct("=L")


def links() -> list[Link]:
    """List the interfaces of our network namespace. Raises OSError if the kernel does not answer."""
    return [link for body in _dump(_GETLINK) if (link := _link(body)) is not None]


def addresses() -> list[Address]:
    """List all addresses, in the kernel's order. Raises OSError if the kernel does not answer."""
    names = {link.number: link.name for link in links()}
    parsed = (_address(body, names) for body in _dump(_GETADDR))
    return [address for address in parsed if address is not None]


def _dump(kind: int) -> Iterator[bytes]:
    """Request a whole table, and yield the bodies of the messages that answer."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE) as netlink:
        netlink.settimeout(ANSWER_S)
        netlink.bind((0, 0))
        netlink.send(_HEADER.pack(_HEADER.size + _LINK.size, kind, _DUMP, 1, 0) + bytes(_LINK.size))
        while True:
            for answer, body in _messages(netlink.recv(1 << 16)):
                if answer == _DONE:
                    return
                if answer == _ERROR:
                    code = -struct.unpack_from("=i", body)[0] if len(body) >= 4 else 0
                    raise OSError(code, os.strerror(code))
                yield body


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(data)
        if length < _HEADER.size:
            return
        yield kind, data[_HEADER.size : length]
        data = data[_aligned(length) :]


def _attributes(data: bytes) -> dict[int, bytes]:
    attributes = {}
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            break
        attributes[kind & 0x3FFF] = data[_ATTRIBUTE.size : length]  # the upper bits are flags about the encoding
        data = data[_aligned(length) :]
    return attributes


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def _link(body: bytes) -> Link | None:
    if len(body) < _LINK.size:
        return None
    index = _LINK.unpack_from(body)[2]
    attributes = _attributes(body[_LINK.size :])
    mtu, master = attributes.get(_IFLA_MTU), attributes.get(_IFLA_MASTER)
    return Link(
        index,
        _text(attributes.get(_IFLA_IFNAME, b"")),
        attributes.get(_IFLA_ADDRESS, b"").hex(":"),
        _NUMBER.unpack(mtu)[0] if mtu else None,
        _NUMBER.unpack(master)[0] if master else 0,
    )


def _address(body: bytes, names: dict[int, str]) -> Address | None:
    if len(body) < _ADDRESS.size:
        return None
    family, prefix, flags, _, index = _ADDRESS.unpack_from(body)
    attributes = _attributes(body[_ADDRESS.size :])
    # On a point-to-point link _IFA_ADDRESS is the address of the peer.
    raw = attributes.get(_IFA_LOCAL) or attributes.get(_IFA_ADDRESS)
    if family not in (socket.AF_INET, socket.AF_INET6) or raw is None:
        return None
    if all_flags := attributes.get(_IFA_FLAGS):
        (flags,) = _NUMBER.unpack(all_flags)
    label = _text(attributes.get(_IFA_LABEL, b"")) or names.get(index, "")
    return Address(label, socket.inet_ntop(family, raw), prefix, flags)


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode("utf-8", errors="replace")
