"""The validate_ functions, which newer code writes as types of parameters. They return nothing, or fail."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.lang import datatypes
from precast.lang.datatypes import mismatch
from precast.lang.functions.collections import flatten
from precast.lang.functions.host import Call
from precast.lang.functions.modules import predicates
from precast.lang.functions.modules.declaration import ModuleFunction, argument_error, declare, declare_legacy
from precast.lang.functions.modules.deprecation import deprecate
from precast.lang.issues import functions as issues
from precast.lang.ruby.puppet_text import ruby_inspect, ruby_text
from precast.lang.ruby.puppet_values import ruby_class, strict_float, strict_integer
from precast.lang.values.base import Hash
from precast.lang.values.regexps import compile_regexp

Check = Callable[..., None]
_CHECKS: Final[dict[str, Check]] = {}


def _declare_deprecated(name: str, type_name: str, documentation: str) -> Callable[[Check], Check]:
    """Declare a function that checks its arguments and warns that it is deprecated."""
    message = (
        f"This method is deprecated, please use the stdlib validate_legacy function,\n                    with {type_name}."
        " There is further documentation for validate_legacy function in the README."
    )

    def declare_check(check: Check) -> Check:
        def body(call: Call, *values: Any) -> None:
            deprecate(call, name, message)
            check(*values)

        declare(name, "Any *values", documentation, pure=False)(body)
        _CHECKS[name] = check
        return check

    return declare_check


def _check_each(name: str, holds: Callable[[Any], bool], what: str) -> Check:
    """Return a check that there are arguments, and that every one is of a kind."""

    def check(*values: Any) -> None:
        if not values:
            raise argument_error(name, "wrong number of arguments (0; must be > 0)")
        for value in values:
            if not holds(value):
                raise argument_error(name, f"{ruby_inspect(value)} is not {what}. It looks to be a {ruby_class(value)}")

    return check


def _is_text_and(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and holds(value)


def _are_paths(value: Any) -> bool:
    return all(map(predicates.is_absolute_path, value if isinstance(value, tuple) else (value,)))


_SIMPLE: Final[Sequence[tuple[str, str, Callable[[Any], bool], str]]] = (
    ("array", "Stdlib::Compat::Array", lambda value: isinstance(value, tuple), "an Array"),
    ("hash", "Stdlib::Compat::Hash", lambda value: isinstance(value, Hash), "a Hash"),
    ("bool", "Stdlib::Compat::Bool", lambda value: isinstance(value, bool), "a boolean"),
    ("string", "Stdlib::Compat::String", lambda value: value is None or isinstance(value, str), "a string"),
    ("absolute_path", "Stdlib::Compat::Absolute_Path", _are_paths, "an absolute path"),
    ("ip_address", "Stdlib::Compat::Ip_Address", _is_text_and(predicates.is_ip_address), "a valid IP address"),
    ("ipv4_address", "Stdlib::Compat::Ipv4_Address", _is_text_and(predicates.is_ipv4_address), "a valid IPv4 address"),
    ("ipv6_address", "Stdlib::Compat::Ipv6_address", _is_text_and(predicates.is_ipv6_address), "a valid IPv6 address"),
)

for _suffix, _type_name, _holds, _what in _SIMPLE:
    _declare_deprecated(f"validate_{_suffix}", _type_name, f"Fails unless every argument is {_what}.")(
        _check_each(f"validate_{_suffix}", _holds, _what)
    )

for _suffix, _holds, _what in (
    ("domain_name", predicates.is_domain_name, "a syntactically correct domain name"),
    ("email_address", predicates.is_email_address, "a valid email address"),
):
    declare_legacy(f"validate_{_suffix}", "Any *values", f"Fails unless every argument is {_what}.")(
        _check_each(f"validate_{_suffix}", _is_text_and(_holds), _what)
    )


def _check_bounds(name: str, number: Callable[[Any], float | None], what: str) -> Check:
    """Return a check that a value, or each of an array, is a number: at most the second argument and at least the third."""

    def bound(value: Any, may_be_empty: bool) -> float | None:
        text = ruby_text(value)
        parsed = number(text)
        if parsed is None and not (may_be_empty and text == ""):
            raise argument_error(name, f"Expected the bound to be unset or {what}, got {text}")
        return parsed

    def check(*values: Any) -> None:
        if not 1 <= len(values) <= 3:
            raise argument_error(name, f"Wrong number of arguments; must be 1, 2 or 3, got {len(values)}")
        most = bound(values[1], len(values) > 2) if len(values) > 1 else None
        least = bound(values[2], False) if len(values) > 2 else None
        if most is not None and least is not None and least > most:
            raise argument_error(
                name, f"Expected second argument to be larger than third argument, got {most} < {least}"
            )
        for value in values[0] if isinstance(values[0], tuple) else (values[0],):
            parsed = None if isinstance(value, Hash) else number(ruby_text(value))
            if parsed is None:
                raise argument_error(name, f"Expected {what} or an Array of them, got {ruby_class(value)}")
            if (most is not None and parsed > most) or (least is not None and parsed < least):
                raise argument_error(name, f"Expected {ruby_inspect(value)} to be between {least} and {most}")

    return check


_declare_deprecated("validate_integer", "Stdlib::Compat::Integer", "Fails unless a value is an integer within bounds.")(
    _check_bounds("validate_integer", strict_integer, "an Integer")
)
_declare_deprecated("validate_numeric", "Stdlib::Compat::Numeric", "Fails unless a value is a number within bounds.")(
    _check_bounds("validate_numeric", strict_float, "a Numeric")
)


@_declare_deprecated(
    "validate_re", "Pattern[]", "Fails unless a text matches a pattern, or one of an array of patterns."
)
def _validate_re(*values: Any) -> None:
    if len(values) not in (2, 3):
        raise argument_error("validate_re", f"wrong number of arguments ({len(values)}; must be 2 or 3)")
    text, patterns = values[:2]
    if not isinstance(text, str):
        raise argument_error("validate_re", f"input needs to be a String, not a {ruby_class(text)}")
    for pattern in flatten(patterns):
        source = pattern if isinstance(pattern, str) else getattr(pattern, "pattern", None)
        if not isinstance(source, str):
            raise argument_error("validate_re", f"a pattern must be a text, got {ruby_class(pattern)}")
        if compile_regexp(source).search(text):
            return
    if len(values) == 3 and isinstance(values[2], str):
        raise issues.FAILED.error(message=values[2])
    raise argument_error("validate_re", f"{ruby_inspect(text)} does not match {ruby_inspect(patterns)}")


@_declare_deprecated(
    "validate_slength", "String[]", "Fails unless a text, or each of an array, has a length within bounds."
)
def _validate_slength(*values: Any) -> None:
    if len(values) not in (2, 3):
        raise argument_error("validate_slength", f"Wrong number of arguments ({len(values)}; must be 2 or 3)")
    has_least = len(values) == 3 and values[2] is not None and values[2] is not False
    most, least = strict_integer(values[1]), strict_integer(values[2]) if has_least else 0
    if most is None or most <= 0 or least is None or least < 0:
        raise argument_error("validate_slength", "Expected the bounds to be positive Numerics")
    if most < least:
        raise argument_error(
            "validate_slength", "Expected second argument to be equal to or larger than third argument"
        )
    for text in values[0] if isinstance(values[0], tuple) else (values[0],):
        if not isinstance(text, str):
            raise argument_error("validate_slength", f"Expected a String or an Array of them, got {ruby_class(text)}")
        if not least <= len(text) <= most:
            raise argument_error(
                "validate_slength",
                f"Expected length of {ruby_inspect(text)} to be between {least} and {most}, was {len(text)}",
            )


LEGACY = ModuleFunction(
    "validate_legacy",
    "Checks a value by a type; if only the named old validate_ function accepts the value, it warns.",
)


@LEGACY.dispatch("Type type, String function, Any value, Any *args", pure=False)
def _validate_legacy(call: Call, type_: datatypes.Type, function: str, value: Any, *args: Any) -> None:
    was_valid = _is_accepted(call, function, (value, *args))
    if type_.check(value):
        if not was_valid:
            call.host.log("notice", f"Accepting previously invalid value for target type '{type_}'")
        return
    reason = mismatch.describe(f"validate_legacy({function})", type_, value)
    if not was_valid:
        raise issues.FAILED.error(message=reason)
    deprecate(call, "validate_legacy", reason)


@LEGACY.dispatch("String type, String function, Any value, Any *args", pure=False)
def _validate_legacy_text(call: Call, type_text: str, function: str, value: Any, *args: Any) -> None:
    _validate_legacy(call, call.host.parse_type(call.scope, type_text), function, value, *args)


def _is_accepted(call: Call, function: str, values: Sequence[Any]) -> bool:
    """Return whether the old function of that name accepts the values, without its warnings."""
    try:
        check = _CHECKS.get(function)
        if check is not None:
            check(*values)
        else:
            call.host.call_function(call.scope, function, values)
    except PrecastError:
        return False
    return True


@declare_legacy("validate_cmd", "Any content, Any command, Any message?", "Would run a command on the server: refused.")
def _validate_cmd(*values: Any) -> None:
    raise issues.IMPURE.error(name="validate_cmd")


@declare_legacy(
    "validate_augeas", "Any content, Any lens, Any tests?, Any message?", "Would parse a text with Augeas: refused."
)
def _validate_augeas(*values: Any) -> None:
    raise issues.IMPURE.error(name="validate_augeas")


@declare(
    "augeas",
    "String content, String lens, Array[String] changes",
    "Would change a text with Augeas on the server: refused.",
    module="augeas_core",
)
def _augeas(*values: Any) -> None:
    raise issues.IMPURE.error(name="augeas")


@declare_legacy("pry", "Any *values", "Would open a debugger on the server: refused.")
def _pry(*values: Any) -> None:
    raise issues.IMPURE.error(name="pry")


@declare_legacy(
    "assert_private",
    "Any message?",
    "Fails if another module declares the calling class or define.",
    pure=False,
)
def assert_private(call: Call, message: Any = "") -> None:
    own, calling = (call.host.variable(call.scope, name) for name in ("module_name", "caller_module_name"))
    if own == calling:
        return
    if isinstance(message, str) and message:
        raise issues.FAILED.error(message=message)
    title = call.host.variable(call.scope, "title")
    raise issues.FAILED.error(
        message=f"{title} is private to module {own}, and declared by {calling or 'the main manifest'}"
    )
