"""lookup and the deprecated hiera functions: values by key from Hiera, with overrides, defaults and expected types."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from precast.lang.datatypes import mismatch
from precast.lang.functions.catalog import INCLUDE
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.hiera.invocation import Invocation
from precast.lang.issues import functions as issues
from precast.lang.scope import MISSING
from precast.lang.values.base import Hash

if TYPE_CHECKING:
    from precast.lang.hiera.context import LookupContext

LOOKUP = Function("lookup", "Looks up a value by key in Hiera, or returns a default.", unknowns=Unknowns.FLOW)

_NAME = "Variant[String, Array[String]]"
_MERGE = "Variant[String[1], Hash[String, Scalar]]"
_OPTIONS = (
    f"'value_type' => Optional[Type], 'default_value' => Any, 'override' => Optional[Hash[String, Any]], "
    f"'default_values_hash' => Optional[Hash[String, Any]], 'merge' => Optional[{_MERGE}]"
)


class _Search:
    """One lookup with its options."""

    def __init__(self, call: Call, names: Any, options: Hash, only_global: bool = False) -> None:
        self.call = call
        self.only_global = only_global
        self.names: Sequence[str] = (names,) if isinstance(names, str) else names
        self.expected = options.get("value_type")
        self.merge = options.get("merge")
        self.override = options.get("override") or Hash()
        self.defaults = options.get("default_values_hash") or Hash()
        self.has_default = "default_value" in options
        self.default = options.get("default_value")
        call.host.lookups.check_merge(self.merge)

    def run(self) -> Any:
        call = self.call
        invocation = Invocation(call.scope, self.override, self.defaults, only_global=self.only_global)
        for name in self.names:
            if name in self.override:
                value = self._check_type(f"Value found for key '{name}' in override hash", self.override[name])
                return self._check_type("Found value", value)
            value = call.host.lookups.find(invocation, name, self.merge)
            if value is not MISSING:
                return self._check_type("Found value", value)
        for name in self.names:
            if name in self.defaults:
                return self._check_type(f"Value found for key '{name}' in default values hash", self.defaults[name])
        if call.block is not None:
            result = call.block.call(self.names[0] if len(self.names) == 1 else tuple(self.names))
            return self._check_type("Value returned from default block", result)
        if self.has_default:
            return self._check_type("Default value", self.default)
        raise issues.NO_VALUE.error(name=_describe_names(self.names))

    def _check_type(self, what: str, value: Any) -> Any:
        if self.expected is None or self.expected.check(value):
            return value
        raise issues.WRONG_LOOKUP_TYPE.error(reason=mismatch.describe(f"{what} has wrong type,", self.expected, value))


def _describe_names(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"the name '{names[0]}'"
    return "any of the names [" + ", ".join(f"'{name}'" for name in names) + "]"


@LOOKUP.dispatch(f"{_NAME} name, Optional[Type] value_type?, Optional[{_MERGE}] merge?", pure=False)
def _lookup(call: Call, names: Any, wanted: Any = None, merge: Any = None) -> Any:
    return _Search(call, names, Hash.of((("value_type", wanted), ("merge", merge)))).run()


@LOOKUP.dispatch(f"{_NAME} name, Optional[Type] value_type, Optional[{_MERGE}] merge, Any default_value", pure=False)
def _lookup_default(call: Call, names: Any, wanted: Any, merge: Any, default: Any) -> Any:
    return _Search(call, names, Hash.of((("value_type", wanted), ("merge", merge), ("default_value", default)))).run()


@LOOKUP.dispatch(f"{_NAME} name, Type value_type?, {_MERGE} merge?, Callable[1, 1] &block")
def _lookup_block(call: Call, names: Any, wanted: Any = None, merge: Any = None) -> Any:
    return _lookup(call, names, wanted, merge)


@LOOKUP.dispatch(f"Struct[{{'name' => {_NAME}, {_OPTIONS}}}] options_hash, Callable[1, 1] &block?", pure=False)
def _lookup_options(call: Call, options: Hash) -> Any:
    return _Search(call, options["name"], options).run()


@LOOKUP.dispatch(f"{_NAME} name, Struct[{{{_OPTIONS}}}] options_hash, Callable[1, 1] &block?", pure=False)
def _lookup_with(call: Call, names: Any, options: Hash) -> Any:
    return _Search(call, names, options).run()


def _declare_deprecated(name: str, merge: str, documentation: str) -> None:
    """Declare hiera, hiera_array, hiera_hash or hiera_include: a lookup with a fixed merge."""
    function = Function(name, documentation + " Deprecated: use lookup.")
    finish: Callable[[Call, Any], Any] = _include_classes if name == "hiera_include" else _return_unchanged

    def look(call: Call, key: str, *defaults: Any) -> Any:
        call.host.warn_once(name, f"The function '{name}' is deprecated in favor of using 'lookup'.")
        options = Hash.of(
            (("merge", merge), *((("default_value", defaults[0]),) if defaults and call.block is None else ()))
        )
        is_global = not call.host.lookups.has_environment_data()
        return finish(call, _Search(call, key, options, only_global=is_global).run())

    function.dispatch("String key", pure=False)(look)
    function.dispatch("String key, Any default, Any override?", pure=False)(look)
    function.dispatch("String key, Callable[1, 1] &default_block")(look)
    function.dispatch("String key, Any override, Callable[1, 1] &default_block")(look)


def _return_unchanged(call: Call, value: Any) -> Any:
    return value


def _include_classes(call: Call, value: Any) -> Any:
    if value == ():
        return None
    return INCLUDE.call(call.host, call.scope, value if isinstance(value, tuple) else (value,), None, call.span)


_declare_deprecated("hiera", "first", "Returns the first value for a key.")
_declare_deprecated("hiera_array", "unique", "Returns all values for a key in one array.")
_declare_deprecated("hiera_hash", "hash", "Merges all hashes for a key.")
_declare_deprecated("hiera_include", "unique", "Includes the classes that are the values for a key.")


def _declare_data_function(name: str) -> None:
    function = Function(name, "Reads a data file for Hiera; hiera.yaml names it, or a function named there calls it.")
    if name in ("yaml_data", "json_data"):

        @function.dispatch("Struct[{path=>String[1]}] options, Puppet::LookupContext context")
        def read(options: Hash, context: "LookupContext") -> Hash:
            return context.data(options["path"], name)

    @function.dispatch("Any *args")
    def refuse(*args: Any) -> NoReturn:
        raise issues.DATA_FUNCTION.error(name=name)


for _name in ("yaml_data", "json_data", "hocon_data", "eyaml_lookup_key"):
    _declare_data_function(_name)

IMPORT = Function("import", "Discontinued: Puppet finds classes by their names.", is_statement=True)


@IMPORT.dispatch("Any *args")
def _import(*args: Any) -> NoReturn:
    raise issues.IMPORT_DISCONTINUED.error()
