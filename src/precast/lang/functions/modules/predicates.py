"""The is_ functions, which newer code writes as `$x =~ Type`, and functions that return the type of a value."""

from collections.abc import Callable
from typing import Any, Final

from precast.lang import datatypes
from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import argument_error, declare, declare_legacy
from precast.lang.functions.modules.deprecation import deprecate
from precast.lang.functions.versioncmp import versioncmp
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import to_f, to_i
from precast.lang.ruby.stdlib.addresses import parse_address
from precast.lang.values.base import Hash, float_text, is_number
from precast.lang.values.regexps import compile_regexp

_SLASH: Final = r"[\\/]"
_NAME: Final = r"[^\\/]+"
_ABSOLUTE: Final = compile_regexp(
    rf"^/|\A(?:(?i:[A-Z]):{_SLASH}|{_SLASH}{_SLASH}{_NAME}{_SLASH}{_NAME}|{_SLASH}{_SLASH}\?{_SLASH}{_NAME})"
)
_INTEGER: Final = compile_regexp(r"^-?(?:(?:[1-9]\d*)|0)$")
_NUMERIC: Final = compile_regexp(r"^-?(?:(?:[1-9]\d*)|0)(?:\.\d+)?(?:[eE]-?\d+)?$")
_MAC: Final = compile_regexp(r"(?i:^[a-f0-9]{1,2}(:[a-f0-9]{1,2}){5}$|^[a-f0-9]{1,2}(:[a-f0-9]{1,2}){19}$)")
_LABEL: Final = compile_regexp(r"(?i:^[a-z\d-]+$)")
_TOP_LABEL: Final = compile_regexp(r"\.[A-Za-z]+$")
_MAX_DOMAIN_CHARS, _MAX_LABEL_CHARS = 255, 63
_MAIL_DOMAIN: Final = compile_regexp(r"\A[a-z\d\-]+(\.[a-z]+)*\.[a-z]+\z")
_MAIL_START: Final = compile_regexp(r"\A[\w+\-]")


def is_absolute_path(value: Any) -> bool:
    return isinstance(value, str) and _ABSOLUTE.search(value) is not None


def is_string(value: Any) -> bool:
    """Return whether a value is a text that is not a number; undef counts as a text."""
    if value is None:
        return True
    return isinstance(value, str) and value not in (float_text(to_f(value)), str(to_i(value)))


def is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, str) and value == float_text(to_f(value)))


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer, or a text with an integer in Puppet's syntax."""
    if isinstance(value, str):
        return _INTEGER.search(value) is not None
    return isinstance(value, int) and not isinstance(value, bool)


def is_numeric(value: Any) -> bool:
    return is_number(value) or (isinstance(value, str) and _NUMERIC.search(value) is not None)


def is_ip_address(value: Any) -> bool:
    return parse_address(value) is not None


def is_ipv4_address(value: Any) -> bool:
    parsed = parse_address(value)
    return parsed is not None and not parsed.is_ipv6


def is_ipv6_address(value: Any) -> bool:
    parsed = parse_address(value)
    return parsed is not None and parsed.is_ipv6


def is_domain_name(value: Any) -> bool:
    """Return whether a text has the form of a domain name; the last of several labels may have only letters."""
    if not isinstance(value, str):
        return False
    if value == ".":
        return True
    name = value.removesuffix(".")
    if not name or len(name) > _MAX_DOMAIN_CHARS or ("." in name and not _TOP_LABEL.search(name)):
        return False
    return all(_is_label(label) for label in name.rstrip(".").split("."))


def _is_label(label: str) -> bool:
    is_long_enough = 0 < len(label) <= _MAX_LABEL_CHARS
    return is_long_enough and "-" not in (label[0], label[-1]) and _LABEL.search(label) is not None


def is_email_address(value: Any) -> bool:
    """Return whether a text is a mail address: a name in which a dot is between letters, and a domain in lower case."""
    if not isinstance(value, str):
        return False
    name, at, domain = value.rpartition("@")
    return bool(at) and _MAIL_DOMAIN.search(domain) is not None and _is_mail_name(name)


def _is_mail_name(name: str) -> bool:
    """Return whether each letter has at most one other character after it. A regular expression could take exponential time."""
    reachable = {0}
    for index, char in enumerate(name):
        if index in reachable and _MAIL_START.match(char):
            reachable.add(index + 1)
            if index + 1 < len(name) and name[index + 1] != "\n":
                reachable.add(index + 2)
    return bool(name) and len(name) in reachable


_DEPRECATED: Final[dict[str, tuple[str, Callable[[Any], bool], str]]] = {
    "is_absolute_path": (
        "Absolute_Path",
        is_absolute_path,
        "Returns whether a text is an absolute path, of Unix or Windows.",
    ),
    "is_array": ("Array", lambda value: isinstance(value, tuple), "Returns whether a value is an array."),
    "is_bool": ("Bool", lambda value: isinstance(value, bool), "Returns whether a value is a boolean."),
    "is_float": ("Float", is_float, "Returns whether a value is a float, or a text that is one."),
    "is_ip_address": ("Ip_address", is_ip_address, "Returns whether a text is an IP address or network."),
    "is_ipv4_address": ("Ipv4", is_ipv4_address, "Returns whether a text is an address or network of IPv4."),
    "is_ipv6_address": ("Ipv6", is_ipv6_address, "Returns whether a text is an address or network of IPv6."),
    "is_numeric": ("Numeric", is_numeric, "Returns whether a value is a number, or a text that is one."),
    "is_string": ("String", is_string, "Returns whether a value is a text that is not a number."),
}
_IGNORE_FURTHER: Final = ("is_array", "is_string")  # they ignore further arguments


def _declare_deprecated(name: str, type_name: str, holds: Callable[[Any], bool], documentation: str) -> None:
    message = (
        f"This method is deprecated, please use match expressions with Stdlib::Compat::{type_name} instead. They are described at "
        "https://docs.puppet.com/puppet/latest/reference/lang_data_type.html#match-expressions."
    )
    key = "is_ipv4_address" if name == "is_ipv6_address" else name

    def body(call: Call, *values: Any) -> bool:
        deprecate(call, key, message)
        if not values or (len(values) > 1 and name not in _IGNORE_FURTHER):
            raise argument_error(name, f"Wrong number of arguments given ({len(values)} for 1)")
        return holds(values[0])

    declare(name, "Any *values", documentation, pure=False)(body)


for _name, (_type_name, _holds, _documentation) in _DEPRECATED.items():
    _declare_deprecated(_name, _type_name, _holds, _documentation)


@declare("is_a", "Any value, Type type", "Returns whether a value is an instance of a type.")
def _is_a(value: Any, type_: datatypes.Type) -> bool:
    return type_.check(value)


@declare("type_of", "Any value", "Returns the detailed data type of a value.")
def _type_of(value: Any) -> datatypes.Type:
    return datatypes.infer(value)


@declare_legacy("is_hash", "Any value", "Returns whether a value is a hash.")
def _is_hash(value: Any) -> bool:
    return isinstance(value, Hash)


declare_legacy("is_integer", "Any value", "Returns whether a value is an integer, or a text that is one.")(is_integer)
declare_legacy("is_domain_name", "Any value", "Returns whether a text is a domain name.")(is_domain_name)
declare_legacy("is_email_address", "Any value", "Returns whether a text is a mail address.")(is_email_address)


@declare_legacy("is_mac_address", "Any value", "Returns whether a text is a MAC address, of six or of twenty bytes.")
def _is_mac_address(value: Any) -> bool:
    if not isinstance(value, str):
        raise argument_error("is_mac_address", "Requires a string to work with")
    return _MAC.search(value) is not None


@declare_legacy("is_function_available", "Any name", "Returns whether a function of that name exists.", pure=False)
def _is_function_available(call: Call, name: Any) -> bool:
    return isinstance(name, str) and name != "" and call.host.has_function(call.scope, name)


@declare_legacy(
    "type3x", "Any value", "Returns the kind of a value as one word: string, integer, float, boolean, array, hash."
)
def _type3x(value: Any) -> str:
    if isinstance(value, str):
        if value == str(to_i(value)):
            return "integer"
        return "float" if value == float_text(to_f(value)) else "string"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "float"), (tuple, "array"), (Hash, "hash"))
    for kind, name in kinds:
        if isinstance(value, kind):
            return name
    raise argument_error("type3x", f"Unknown type: {ruby_text(value)}")


@declare(
    "os_version_gte",
    "String[1] os, String[1] version >> Boolean",
    "Returns whether the node runs an operating system in this version or a later one.",
    pure=False,
)
def _os_version_gte(call: Call, os: str, version: str) -> bool:
    if call.host.fact_value("facts", ("operatingsystem",)) != os:
        return False
    release = call.host.fact_value("facts", ("operatingsystemmajrelease",))
    if not isinstance(release, str):
        raise argument_error("os_version_gte", "the node has no fact operatingsystemmajrelease")
    return versioncmp(release, version) >= 0
