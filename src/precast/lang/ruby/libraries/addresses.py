"""IPAddr: addresses and networks."""

from typing import Any

from precast.lang.ruby.errors import raised
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method, of_class
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.stdlib.addresses import Address, parse_address
from precast.lang.ruby.values import Instance, Range

Args = list[Any]


class RubyAddress(Instance):
    """An address or a network."""

    kind_name = "IPAddr"

    def __init__(self, address: Address) -> None:
        self.address = address


def address_of(value: Any) -> RubyAddress:
    """Return the address of a text. Raises IPAddr's errors."""
    if isinstance(value, RubyAddress):
        return value
    found = parse_address(value)
    if found is None:
        kind = (
            "IPAddr::InvalidPrefixError"
            if isinstance(value, str) and _has_bad_prefix(value)
            else "IPAddr::InvalidAddressError"
        )
        what = "invalid length" if kind.endswith("PrefixError") else "invalid address"
        raise raised(kind, f"{what}: {value}")
    return RubyAddress(found)


def _has_bad_prefix(text: str) -> bool:
    return "/" in text and parse_address(text.partition("/")[0]) is not None


@of_class("IPAddr", "new")
def _new(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubyAddress:
    value = args[0] if args else "::"
    if isinstance(value, int) and len(args) > 1:
        bits = 32 if args[1] == 2 else 128
        return RubyAddress(Address(value, bits, bits))
    return address_of(value)


def _number(value: int, like: Address) -> RubyAddress:
    return RubyAddress(Address(value & ((1 << like.bits) - 1), like.bits, like.bits))


@method("IPAddr", "to_s")
def _to_s(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> str:
    return str(this.address)


@method("IPAddr", "to_string")
def _to_string(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> str:
    if not this.address.is_ipv6:
        return str(this.address)
    return ":".join(f"{this.address.number >> shift & 0xFFFF:04x}" for shift in range(112, -1, -16))


@method("IPAddr", "inspect")
def _inspect(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> str:
    family = "IPv6" if this.address.is_ipv6 else "IPv4"
    mask = RubyAddress(_mask(this.address))
    texts = [_to_string(execution, each, [], None) for each in (this, mask)]
    return f"#<IPAddr: {family}:{'/'.join(texts)}>"


def _mask(address: Address) -> Address:
    number = (1 << address.bits) - (1 << (address.bits - address.length))
    return Address(number, address.bits, address.bits)


@method("IPAddr", "ipv4?")
def _is_ipv4(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> bool:
    return not this.address.is_ipv6


@method("IPAddr", "ipv6?")
def _is_ipv6(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> bool:
    return this.address.is_ipv6


@method("IPAddr", "to_i")
def _to_i(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> int:
    return this.address.number


@method("IPAddr", "prefix")
def _prefix(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> int:
    return this.address.length


@method("IPAddr", "netmask")
def _netmask(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> str:
    return str(_to_string(execution, RubyAddress(_mask(this.address)), [], None))


@method("IPAddr", "family")
def _family(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> int:
    return 10 if this.address.is_ipv6 else 2


@method("IPAddr", "include?", "===", "member?")
def _include(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> bool:
    return this.address.includes(address_of(args[0]).address)


@method("IPAddr", "mask")
def _masked(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> RubyAddress:
    return address_of(f"{this.address}/{args[0]}")


@method("IPAddr", "to_range")
def _to_range(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> Range:
    return Range(_number(this.address.number, this.address), _number(this.address.last, this.address), False)


@method("IPAddr", "succ")
def _succ(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> RubyAddress:
    return _number(this.address.number + 1, this.address)


@method("IPAddr", "+")
def _add(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> RubyAddress:
    return RubyAddress(this.address._replace(number=this.address.number + int(args[0])))


@method("IPAddr", "-")
def _subtract(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> RubyAddress:
    return RubyAddress(this.address._replace(number=this.address.number - int(args[0])))


@method("IPAddr", "~")
def _invert(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> RubyAddress:
    return _number(~this.address.number, this.address)


@method("IPAddr", "&")
def _and(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> RubyAddress:
    other = args[0] if isinstance(args[0], int) else address_of(args[0]).address.number
    return RubyAddress(this.address._replace(number=this.address.number & other))


@method("IPAddr", "|")
def _or(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> RubyAddress:
    other = args[0] if isinstance(args[0], int) else address_of(args[0]).address.number
    return RubyAddress(this.address._replace(number=this.address.number | other))


@method("IPAddr", "==", "eql?")
def _equal(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> bool:
    other = (
        args[0] if isinstance(args[0], RubyAddress) else None if parse_address(args[0]) is None else address_of(args[0])
    )
    return other is not None and (this.address.bits, this.address.number) == (other.address.bits, other.address.number)


@method("IPAddr", "<=>")
def _order(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> int | None:
    if not isinstance(args[0], RubyAddress | str):
        return None
    mine, other = this.address.number, address_of(args[0]).address.number
    return (mine > other) - (mine < other)


@method("IPAddr", "reverse")
def _reverse(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> str:
    number = this.address.number
    if this.address.is_ipv6:
        return ".".join(f"{number:032x}"[::-1]) + ".ip6.arpa"
    return ".".join(str(number >> shift & 255) for shift in (0, 8, 16, 24)) + ".in-addr.arpa"


@method("IPAddr", "ip6_arpa")
def _ip6_arpa(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> str:
    return str(_reverse(execution, this, [], None))


@method("IPAddr", "loopback?")
def _is_loopback(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> bool:
    return any(address_of(network).address.includes(this.address) for network in ("127.0.0.0/8", "::1"))


@method("IPAddr", "private?")
def _is_private(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> bool:
    networks = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
    return any(address_of(network).address.includes(this.address) for network in networks)


@method("IPAddr", "link_local?")
def _is_link_local(execution: Execution, this: RubyAddress, args: Args, block: Proc | None) -> bool:
    return any(address_of(network).address.includes(this.address) for network in ("169.254.0.0/16", "fe80::/10"))
