"""The is_ functions, which newer code writes as `$x =~ Type`, and what type a value has."""

from collections.abc import Callable
from typing import Any, Final

from precast.lang import datatypes
from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import declare, declare_older, wrong
from precast.lang.functions.modules.deprecation import deprecate
from precast.lang.functions.versions import versioncmp
from precast.lang.ruby.addresses import address
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import to_f, to_i
from precast.lang.values.core import Hash, float_text, is_number
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
_LONGEST_DOMAIN, _LONGEST_LABEL = 255, 63
_MAIL_DOMAIN: Final = compile_regexp(r"\A[a-z\d\-]+(\.[a-z]+)*\.[a-z]+\z")
_MAIL_START: Final = compile_regexp(r"\A[\w+\-]")


def is_absolute_path(value: Any) -> bool:
    return isinstance(value, str) and _ABSOLUTE.search(value) is not None


def is_string(value: Any) -> bool:
    """Whether a value is a text that is no number; undef counts as one."""
    if value is None:
        return True
    return isinstance(value, str) and value not in (float_text(to_f(value)), str(to_i(value)))


def is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, str) and value == float_text(to_f(value)))


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, or a text that writes one as Puppet does."""
    if isinstance(value, str):
        return _INTEGER.search(value) is not None
    return isinstance(value, int) and not isinstance(value, bool)


def is_numeric(value: Any) -> bool:
    return is_number(value) or (isinstance(value, str) and _NUMERIC.search(value) is not None)


def is_ip_address(value: Any) -> bool:
    return address(value) is not None


def is_ipv4_address(value: Any) -> bool:
    found = address(value)
    return found is not None and not found.is_ipv6


def is_ipv6_address(value: Any) -> bool:
    found = address(value)
    return found is not None and found.is_ipv6


def is_domain_name(value: Any) -> bool:
    """Whether a text is a domain name, as far as its form tells; the last label of several has letters only."""
    if not isinstance(value, str):
        return False
    if value == ".":
        return True
    name = value.removesuffix(".")
    if not name or len(name) > _LONGEST_DOMAIN or ("." in name and not _TOP_LABEL.search(name)):
        return False
    return all(_is_label(label) for label in name.rstrip(".").split("."))


def _is_label(label: str) -> bool:
    is_long_enough = 0 < len(label) <= _LONGEST_LABEL
    return is_long_enough and "-" not in (label[0], label[-1]) and _LABEL.search(label) is not None


def is_email_address(value: Any) -> bool:
    """Whether a text is a mail address: a name, in which a dot stands between letters, and a domain in lower case."""
    if not isinstance(value, str):
        return False
    name, at, domain = value.rpartition("@")
    return bool(at) and _MAIL_DOMAIN.search(domain) is not None and _is_mail_name(name)


def _is_mail_name(name: str) -> bool:
    """A run of letters, each with at most one other character behind it. Read by hand: as an expression it could take forever."""
    reachable = {0}
    for index, char in enumerate(name):
        if index in reachable and _MAIL_START.match(char):
            reachable.add(index + 1)
            if index + 1 < len(name) and name[index + 1] != "\n":
                reachable.add(index + 2)
    return bool(name) and len(name) in reachable


_DEPRECATED: Final[dict[str, tuple[str, Callable[[Any], bool], str]]] = {
    "is_absolute_path": ("Absolute_Path", is_absolute_path, "Whether a text is an absolute path, of Unix or Windows."),
    "is_array": ("Array", lambda value: isinstance(value, tuple), "Whether a value is an array."),
    "is_bool": ("Bool", lambda value: isinstance(value, bool), "Whether a value is a boolean."),
    "is_float": ("Float", is_float, "Whether a value is a float, or a text that is one."),
    "is_ip_address": ("Ip_address", is_ip_address, "Whether a text is an IP address or network."),
    "is_ipv4_address": ("Ipv4", is_ipv4_address, "Whether a text is an address or network of IPv4."),
    "is_ipv6_address": ("Ipv6", is_ipv6_address, "Whether a text is an address or network of IPv6."),
    "is_numeric": ("Numeric", is_numeric, "Whether a value is a number, or a text that is one."),
    "is_string": ("String", is_string, "Whether a value is a text that is no number."),
}
_SEVERAL: Final = ("is_array", "is_string")  # take further arguments, and mind only the first


def _declare_deprecated(name: str, wanted: str, holds: Callable[[Any], bool], documentation: str) -> None:
    message = (
        f"This method is deprecated, please use match expressions with Stdlib::Compat::{wanted} instead. They are described at "
        "https://docs.puppet.com/puppet/latest/reference/lang_data_type.html#match-expressions."
    )
    key = "is_ipv4_address" if name == "is_ipv6_address" else name

    def body(call: Call, *values: Any) -> bool:
        deprecate(call, key, message)
        if not values or (len(values) > 1 and name not in _SEVERAL):
            raise wrong(name, f"Wrong number of arguments given ({len(values)} for 1)")
        return holds(values[0])

    declare(name, "Any *values", documentation, pure=False)(body)


for _name, (_wanted, _holds, _documentation) in _DEPRECATED.items():
    _declare_deprecated(_name, _wanted, _holds, _documentation)


@declare("is_a", "Any value, Type type", "Whether a value is an instance of a type.")
def _is_a(value: Any, wanted: datatypes.Type) -> bool:
    return wanted.check(value)


@declare("type_of", "Any value", "The detailed data type of a value.")
def _type_of(value: Any) -> datatypes.Type:
    return datatypes.infer(value)


@declare_older("is_hash", "Any value", "Whether a value is a hash.")
def _is_hash(value: Any) -> bool:
    return isinstance(value, Hash)


declare_older("is_integer", "Any value", "Whether a value is an integer, or a text that is one.")(is_integer)
declare_older("is_domain_name", "Any value", "Whether a text is a domain name.")(is_domain_name)
declare_older("is_email_address", "Any value", "Whether a text is a mail address.")(is_email_address)


@declare_older("is_mac_address", "Any value", "Whether a text is a MAC address, of six or of twenty bytes.")
def _is_mac_address(value: Any) -> bool:
    if not isinstance(value, str):
        raise wrong("is_mac_address", "Requires a string to work with")
    return _MAC.search(value) is not None


@declare_older("is_function_available", "Any name", "Whether there is a function of that name.", pure=False)
def _is_function_available(call: Call, name: Any) -> bool:
    return isinstance(name, str) and name != "" and call.host.has_function(call.scope, name)


@declare_older("type3x", "Any value", "The kind of a value in one word: string, integer, float, boolean, array, hash.")
def _type3x(value: Any) -> str:
    if isinstance(value, str):
        if value == str(to_i(value)):
            return "integer"
        return "float" if value == float_text(to_f(value)) else "string"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "float"), (tuple, "array"), (Hash, "hash"))
    for kind, name in kinds:
        if isinstance(value, kind):
            return name
    raise wrong("type3x", f"Unknown type: {ruby_text(value)}")


@declare(
    "os_version_gte",
    "String[1] os, String[1] version >> Boolean",
    "Whether the node runs an operating system in this version or a later one.",
    pure=False,
)
def _os_version_gte(call: Call, os: str, version: str) -> bool:
    if call.host.fact_value("facts", ("operatingsystem",)) != os:
        return False
    release = call.host.fact_value("facts", ("operatingsystemmajrelease",))
    if not isinstance(release, str):
        raise wrong("os_version_gte", "the node has no fact operatingsystemmajrelease")
    return versioncmp(release, version) >= 0
