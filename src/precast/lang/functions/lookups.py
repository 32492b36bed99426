"""lookup and its elder kin: values by key from Hiera, with overrides, defaults and the types they must have."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from precast.lang.datatypes import mismatch
from precast.lang.functions import issues
from precast.lang.functions.catalog import INCLUDE
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.hiera.invocation import Invocation
from precast.lang.scope import MISSING
from precast.lang.values.core import Hash

if TYPE_CHECKING:
    from precast.lang.hiera.context import LookupContext

LOOKUP = Function("lookup", "A value by key from Hiera, or a default.", unknowns=Unknowns.FLOW)

_NAME = "Variant[String, Array[String]]"
_MERGE = "Variant[String[1], Hash[String, Scalar]]"
_OPTIONS = (
    f"'value_type' => Optional[Type], 'default_value' => Any, 'override' => Optional[Hash[String, Any]], "
    f"'default_values_hash' => Optional[Hash[String, Any]], 'merge' => Optional[{_MERGE}]"
)


class _Search:
    """One look-up with its options."""

    def __init__(self, call: Call, names: Any, options: Hash, only_global: bool = False) -> None:
        self.call = call
        self.only_global = only_global
        self.names: Sequence[str] = (names,) if isinstance(names, str) else names
        self.wanted = options.get("value_type")
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
                found = self._checked(f"Value found for key '{name}' in override hash", self.override[name])
                return self._checked("Found value", found)
            value = call.host.lookups.find(invocation, name, self.merge)
            if value is not MISSING:
                return self._checked("Found value", value)
        for name in self.names:
            if name in self.defaults:
                return self._checked(f"Value found for key '{name}' in default values hash", self.defaults[name])
        if call.block is not None:
            said = call.block.call(self.names[0] if len(self.names) == 1 else tuple(self.names))
            return self._checked("Value returned from default block", said)
        if self.has_default:
            return self._checked("Default value", self.default)
        raise issues.NO_VALUE.error(name=_shown(self.names))

    def _checked(self, what: str, value: Any) -> Any:
        if self.wanted is None or self.wanted.check(value):
            return value
        raise issues.WRONG_LOOKUP_TYPE.error(reason=mismatch.describe(f"{what} has wrong type,", self.wanted, value))


def _shown(names: Sequence[str]) -> str:
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


def _declare_elder(name: str, merge: str, documentation: str) -> None:
    """hiera, hiera_array, hiera_hash, hiera_include: lookup with a fixed merge."""
    function = Function(name, documentation + " Deprecated: use lookup.")
    finish: Callable[[Call, Any], Any] = _included if name == "hiera_include" else _as_it_is

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


def _as_it_is(call: Call, value: Any) -> Any:
    return value


def _included(call: Call, value: Any) -> Any:
    if value == ():
        return None
    return INCLUDE.call(call.host, call.scope, value if isinstance(value, tuple) else (value,), None, call.span)


_declare_elder("hiera", "first", "The first value found for a key.")
_declare_elder("hiera_array", "unique", "All values found for a key, in one array.")
_declare_elder("hiera_hash", "hash", "All hashes found for a key, merged.")
_declare_elder("hiera_include", "unique", "Includes the classes found for a key.")


def _declare_data_function(name: str) -> None:
    function = Function(name, "Reads a data file for Hiera: named in hiera.yaml, or called by a function that is.")
    if name in ("yaml_data", "json_data"):

        @function.dispatch("Struct[{path=>String[1]}] options, Puppet::LookupContext context")
        def read(options: Hash, context: "LookupContext") -> Hash:
            return context.data(options["path"], name)

    @function.dispatch("Any *args")
    def refuse(*args: Any) -> NoReturn:
        raise issues.DATA_FUNCTION.error(name=name)


for _name in ("yaml_data", "json_data", "hocon_data", "eyaml_lookup_key"):
    _declare_data_function(_name)

IMPORT = Function("import", "Discontinued: classes are found by their names.", is_statement=True)


@IMPORT.dispatch("Any *args")
def _import(*args: Any) -> NoReturn:
    raise issues.IMPORT_DISCONTINUED.error()
