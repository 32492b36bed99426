"""Functions with namespaces, which newer versions of modules than Debian's bring: stdlib 9, extlib, systemd, mysql, postgresql."""

import hashlib
import re
import zlib
from functools import cmp_to_key
from typing import Any, Final

from precast.lang.functions.collections import flatten, natural_order
from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import ModuleFunction, argument_error, declare
from precast.lang.functions.numbers import sorted_by
from precast.lang.functions.registry import Unknowns
from precast.lang.functions.versioncmp import versioncmp
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import ruby_class
from precast.lang.ruby.stdlib.addresses import Address, parse_address
from precast.lang.values.base import Hash, Sensitive


def _plain_text(value: Any) -> str:
    return ruby_text(value.unwrap() if isinstance(value, Sensitive) else value)


@declare("stdlib::crc32", "Any value >> String", "Returns the CRC-32 of a text, in hexadecimal.")
def _crc32(value: Any) -> str:
    return f"{zlib.crc32(_plain_text(value).encode()):x}"


@declare("stdlib::sha256", "Any value >> String", "Returns the SHA-256 of a text, in hexadecimal.")
def _sha256(value: Any) -> str:
    return hashlib.sha256(_plain_text(value).encode()).hexdigest()


@declare(
    "stdlib::has_function", "String[1] name >> Boolean", "Returns whether a function of that name exists.", pure=False
)
def _has_function(call: Call, name: str) -> bool:
    return call.host.has_function(call.scope, name.removeprefix("::").lower())


@declare(
    "stdlib::nested_values",
    "Hash hash >> Array",
    "Returns all values of a hash and of the hashes in it.",
    unknowns=Unknowns.FLOW,
)
def _nested_values(value: Hash) -> tuple[Any, ...]:
    return flatten(*(_nested_values(item) if isinstance(item, Hash) else item for item in value.values()))


SORT_BY = ModuleFunction("stdlib::sort_by", "Sorts the elements by the result of a block for each.")


@SORT_BY.dispatch("Array list, Callable[1, 1] &block", pure=False)
def _sort_by(call: Call, items: tuple[Any, ...]) -> tuple[Any, ...]:
    keyed = [(call.run_block(item), item) for item in items]
    return tuple(item for _, item in sorted_by(keyed, lambda a, b: natural_order(a[0], b[0])))


@SORT_BY.dispatch("Hash hash, Callable[2, 2] &block", pure=False)
def _sort_hash_by(call: Call, value: Hash) -> Hash:
    keyed = [(call.run_block(key, item), (key, item)) for key, item in value.items()]
    return Hash.of(entry for _, entry in sorted_by(keyed, lambda a, b: natural_order(a[0], b[0])))


# extlib


def _network(name: str, text: str) -> Address:
    parsed = parse_address(text)
    if parsed is None:
        raise argument_error(name, f"{text} is not an address or network")
    return parsed


@declare("extlib::netmask_to_cidr", "String mask >> Integer", "Returns the length of a netmask.", module="extlib")
def _netmask_to_cidr(mask: str) -> int:
    return _network("extlib::netmask_to_cidr", mask).number.bit_count()


@declare("extlib::cidr_to_netmask", "String network >> String", "Returns the netmask of a network.", module="extlib")
def _cidr_to_netmask(text: str) -> str:
    network = _network("extlib::cidr_to_netmask", text)
    ones = (1 << network.bits) - (1 << network.bits - network.length)
    return str(Address(ones, network.bits, network.bits))


@declare(
    "extlib::cidr_to_network", "String network >> String", "Returns the first address of a network.", module="extlib"
)
def _cidr_to_network(text: str) -> str:
    return str(_network("extlib::cidr_to_network", text))


@declare("extlib::path_join", "Variant[Array[String], String] +parts", "Joins parts to one path.", module="extlib")
def _path_join(*parts: Any) -> str:
    return re.sub("/+", "/", "/".join(flatten(*parts)))


@declare(
    "extlib::sort_by_version",
    "Array[String] versions >> Array[String]",
    "Sorts versions, the oldest first.",
    module="extlib",
)
def _sort_by_version(versions: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(versions, key=cmp_to_key(versioncmp)))


@declare(
    "extlib::default_content",
    "Optional[String] content, Optional[String] template",
    "Returns the content if it is not empty, otherwise renders a template.",
    module="extlib",
    pure=False,
    unknowns=Unknowns.FLOW,
)
def _default_content(call: Call, content: Any, template: Any) -> Any:
    if content is not None and content != "":
        return content
    return call.host.call_function(call.scope, "template", (template,)) if template else None


# systemd

_ESCAPED: Final = re.compile(r"[^A-Za-z0-9:_.]")


@declare(
    "systemd::systemd_escape",
    "String text, Boolean is_path? >> String",
    "Escapes a text for the name of a systemd unit; a path loses its outer slashes.",
    module="systemd",
)
def _systemd_escape(text: str, is_path: bool = False) -> str:
    if is_path:
        text = re.sub("/+", "/", text).strip("/") or "/"
        if text == "/":
            return "-"
    escaped = "-".join(_ESCAPED.sub(_as_bytes, part) for part in text.split("/"))
    return f"\\x2e{escaped[1:]}" if escaped.startswith(".") else escaped


def _as_bytes(match: "re.Match[str]") -> str:
    return "".join(f"\\x{byte:02x}" for byte in match[0].encode())


# mysql and postgresql


@declare(
    "mysql::normalise_and_deepmerge",
    "Any +hashes",
    "Merges hashes and the hashes inside of them; keys that differ only in dashes and underscores are the same.",
    module="mysql",
    unknowns=Unknowns.FLOW,
    aliases=("mysql_deepmerge",),
)
def _normalise_and_deepmerge(*hashes: Any) -> Hash:
    merged = Hash()
    for value in hashes:
        if value is None or value == "":
            continue
        if not isinstance(value, Hash):
            raise argument_error("mysql::normalise_and_deepmerge", f"unexpected argument type {ruby_class(value)}")
        merged = _merge_options(merged, value)
    return merged


def _merge_options(below: Hash, above: Hash) -> Hash:
    for key, item in above.items():
        known = next((option for option in below if _is_same_option(option, key)), None)
        present = below.lookup(known) if known is not None else None
        value = _merge_options(present, item) if isinstance(present, Hash) and isinstance(item, Hash) else item
        if known is not None and known != key:
            below = Hash.of(entry for entry in below.items() if entry[0] != known)
        below = below.merged({key: value})
    return below


def _is_same_option(a: Any, b: Any) -> bool:
    return bool(a == b) or (isinstance(a, str) and isinstance(b, str) and a.replace("-", "_") == b.replace("-", "_"))


@declare(
    "postgresql::prepend_sql_password",
    "Variant[Sensitive[String], String] password >> String",
    "Returns the SQL clause that sets a hashed password.",
    module="postgresql",
)
def _prepend_sql_password(password: Any) -> str:
    return f"ENCRYPTED PASSWORD '{_plain_text(password)}'"
