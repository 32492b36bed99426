"""Functions that declare resources unless they are declared already, and that read declared ones."""

import re
from collections.abc import Iterator
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.lang import datatypes
from precast.lang.functions.collections import flatten
from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import ModuleFunction, argument_error, declare, declare_legacy
from precast.lang.functions.modules.deprecation import declare_renamed
from precast.lang.functions.registry import Unknowns
from precast.lang.ruby.legacy_values import legacy_text
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import ruby_class, ruby_equal
from precast.lang.values.base import Hash

_REFERENCE: Final = re.compile(r"([^\[\]]+)\[(.+)\]", re.DOTALL)


def _parts(name: str, reference: Any) -> tuple[str, str]:
    """Return type and title of a reference or of its text; the title is empty for a reference to a type."""
    if isinstance(reference, datatypes.ClassType):
        return "class", reference.class_name or ""
    if isinstance(reference, datatypes.ResourceType):
        return (reference.type_name or "").lower(), reference.title or ""
    if not isinstance(reference, str):
        raise argument_error(name, f"Reference is not understood: '{ruby_class(reference)}'")
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise argument_error(name, f"No title provided and '{reference}' is not a valid resource reference")
    return match[1].removeprefix("::").lower(), match[2]


@declare_legacy(
    "defined_with_params",
    "Any reference, Any parameters?, Any *rest",
    "Returns whether a resource is declared with these values of its parameters; other parameters may have any value.",
    pure=False,
    unknowns=Unknowns.FLOW,
)
def _defined_with_params(call: Call, reference: Any, parameters: Any = "", *rest: Any) -> bool:
    if reference in ("", False):
        raise argument_error("defined_with_params", "Must specify a reference")
    type_name, title = _parts("defined_with_params", call.host.concrete(reference, call.span))
    return _is_declared(call, type_name, title, parameters if isinstance(parameters, Hash) else Hash())


def _is_declared(call: Call, type_name: str, title: str, parameters: Hash) -> bool:
    resources = call.host.catalog.declared(call.scope, type_name, title)
    return any(all(_has_value(call, values, key, value) for key, value in parameters.items()) for values in resources)


def _has_value(call: Call, declared: Hash, key: Any, expected: Any) -> bool:
    value = declared.lookup(key)
    if value is expected or value == expected:
        return True
    host = call.host
    return host.has_unknowns and ruby_equal(host.concrete(value, call.span), host.concrete(expected, call.span))


@declare_legacy(
    "ensure_resource",
    "Any type, Any titles, Any parameters?, Any *rest",
    "Declares a resource, or one for each title of an array, unless it is already declared with the same values.",
    pure=False,
    unknowns=Unknowns.FLOW,
)
def _ensure_resource(call: Call, type_name: Any, titles: Any, parameters: Any = False, *rest: Any) -> None:
    type_name, titles = call.host.concrete((type_name, titles), call.span)
    if not isinstance(type_name, str):
        raise argument_error("ensure_resource", "Must specify a type")
    _ensure(call, type_name, titles, parameters or Hash())


def _ensure(call: Call, type_name: str, titles: Any, parameters: Any) -> None:
    if titles is None or titles is False:
        raise argument_error("ensure_resource", "Must specify a title")
    if not isinstance(parameters, Hash):
        raise argument_error("ensure_resource", f"the parameters must be a Hash, got {ruby_class(parameters)}")
    for title in flatten(titles):
        kind, name = _parts("ensure_resource", f"{type_name}[{ruby_text(title)}]")
        if not _is_declared(call, kind.lstrip("@"), name, parameters):
            resource = Hash.of([(name if isinstance(title, str) else title, parameters)])
            call.host.catalog.create_resources(call.scope, type_name, resource, Hash())


@declare_legacy(
    "ensure_resources",
    "Any type, Any resources, Any defaults?, Any *rest",
    "Declares a resource for each entry of a hash of titles and parameters, unless it is already declared with the same values.",
    pure=False,
    unknowns=Unknowns.FLOW,
)
def _ensure_resources(call: Call, type_name: Any, resources: Any, defaults: Any = False, *rest: Any) -> None:
    type_name = call.host.concrete(type_name, call.span)
    if not isinstance(resources, Hash):
        raise argument_error("ensure_resources", "Requires second argument to be a Hash")
    for title, parameters in resources.items():
        _ensure(call, type_name, title, _with_defaults(parameters, defaults or Hash()))


def _with_defaults(parameters: Any, defaults: Any) -> Any:
    if not isinstance(defaults, Hash) or not isinstance(parameters, Hash | None):
        raise argument_error("ensure_resources", "Requires hashes of parameters")
    return defaults if parameters is None else defaults.merged(parameters)


PACKAGES: Final = "Variant[String[1], Array[String[1]], Hash[String[1], Any]] packages, Hash defaults? >> Undef"


@declare(
    "ensure_packages",
    PACKAGES,
    "Declares packages that are not declared yet, with ensure => installed unless the defaults or the hash set it.",
    pure=False,
    unknowns=Unknowns.FLOW,
)
def _ensure_packages(call: Call, packages: Any, defaults: Hash = Hash()) -> None:  # noqa: B008 (immutable)
    given = Hash.of([("ensure", "installed")]).merged(defaults)
    if given["ensure"] == "present":
        given = given.merged({"ensure": "installed"})
    if isinstance(packages, Hash):
        for title, parameters in packages.items():
            _ensure(call, "package", title, _with_defaults(parameters, given))
    else:
        _ensure(call, "package", packages, given)


@declare_legacy(
    "getparam",
    "Any reference, Any name, Any *rest",
    "Returns the value of a parameter of a declared resource, or an empty text.",
    pure=False,
)
def _getparam(call: Call, reference: Any, name: Any, *rest: Any) -> Any:
    if reference in ("", False):
        raise argument_error("getparam", "Must specify a reference")
    if not isinstance(name, str):
        raise argument_error("getparam", "Must specify name of a parameter")
    match = _REFERENCE.fullmatch(legacy_text(reference))
    if not name:
        return ""
    if match is None:
        raise argument_error(
            "getparam", f"No title provided and '{legacy_text(reference)}' is not a valid resource reference"
        )
    values = next(_declared(call, match[1].lower(), match[2]), Hash())
    value = values.lookup(name)
    return "" if value is None else value


def _declared(call: Call, type_name: str, title: str) -> Iterator[Hash]:
    return iter(call.host.catalog.declared(call.scope, type_name, title, with_container=True))


@declare(
    "stdlib::str2resource",
    "String reference >> Any",
    "Converts a text to the reference to a declared resource.",
    pure=False,
)
def _str2resource(call: Call, text: str) -> Any:
    type_name, title = _parts("stdlib::str2resource", text)
    if not call.host.catalog.is_declared(call.scope, type_name, title):
        raise argument_error(
            "stdlib::str2resource",
            f"could not find {text}, this is parse order dependent and values should not be quoted",
        )
    return datatypes.ClassType(title.lower()) if type_name == "class" else datatypes.ResourceType(type_name, title)


INI_SETTINGS = ModuleFunction(
    "inifile::create_ini_settings",
    "Declares an ini_setting for each setting of a hash of sections.",
    module="inifile",
)
declare_renamed("create_ini_settings", "inifile::create_ini_settings")


@INI_SETTINGS.dispatch("Hash settings, Hash defaults?", pure=False)
def _create_ini_settings(call: Call, settings: Hash, defaults: Hash = Hash()) -> Any:  # noqa: B008 (immutable)
    resources: list[tuple[str, Hash]] = []
    for section, entries in settings.items():
        if not isinstance(entries, Hash):
            raise _ini_error(f"Section {ruby_text(section)} must contain a Hash")
        path = defaults.merged(settings).lookup("path")
        if path is None or path is False:
            raise _ini_error("must pass the path parameter to the Ini_setting resource!")
        for setting, value in entries.items():
            given = value if isinstance(value, Hash) else Hash.of([("value", value)])
            own = Hash.of([("ensure", "present"), ("section", section), ("setting", setting)])
            title = f"{ruby_text(path)} [{ruby_text(section)}] {ruby_text(setting)}"
            resources.append((title, own.merged(given)))
    return call.host.call_function(call.scope, "create_resources", ("ini_setting", Hash.of(resources), defaults))


def _ini_error(reason: str) -> PrecastError:
    return argument_error("create_ini_settings", reason)
