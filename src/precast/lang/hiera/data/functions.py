"""Data functions named in hiera.yaml: eyaml, and functions written in the Puppet language.

A `data_hash` function gives all its data at once, a `lookup_key` function the value of a key, a `data_dig` function also the value
below a key. Each is called once in a compile for the same arguments.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from precast.base.errors import PrecastError
from precast.lang.compiler.suggestions import did_you_mean
from precast.lang.datatypes import mismatch, parse_type
from precast.lang.hiera import issues
from precast.lang.hiera.config import SECRETS, VAULT, Level
from precast.lang.hiera.context import LookupContext, NotFound
from precast.lang.hiera.data import eyaml, secrets
from precast.lang.hiera.data.files import READERS
from precast.lang.hiera.interpolation import Interpolator
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import Key
from precast.lang.hiera.levels import check_data
from precast.lang.hiera.locations import Location
from precast.lang.issues import compiler as issues_compiler
from precast.lang.scope import MISSING
from precast.lang.values.base import Hash

if TYPE_CHECKING:
    from precast.lang.hiera.layers import Layer

_HASH: Final = parse_type("Hash")
_UNSUPPORTED: Final = ("hocon_data",)
_KNOWN: Final = (*READERS, "eyaml_lookup_key", SECRETS, VAULT)


class DataFunctions:
    """Calls the functions of one layer's levels, and caches their results."""

    def __init__(self, layer: "Layer") -> None:
        self._layer = layer
        self._results: dict[tuple[Any, ...], Any] = {}
        self._cached: dict[tuple[Any, ...], dict[Any, Any]] = {}

    def value(self, level: Level, options: Hash, location: Location | None, key: Key, invocation: Invocation) -> Any:
        """The function's value for a key, or MISSING. Raises HIERA-022 to HIERA-024."""
        if level.function in _UNSUPPORTED:
            raise issues.UNSUPPORTED_FUNCTION.error(path=self._layer.config.path, name=level.function)
        if level.function == "eyaml_lookup_key" and level.kind == "lookup_key":
            return self._decrypt(options, location, key, invocation)
        if level.is_secret:
            return self._secret(level, options, location, key)
        if (
            location is not None
            and not location.is_uri
            and not self._layer.lookups.source(location, "yaml_data").exists
        ):
            return MISSING
        call = _Call(self._layer, level, options, location, invocation, self._cache_of(level, location))
        match level.kind:
            case "data_hash":
                return self._from_hash(call, key, invocation)
            case "lookup_key":
                return self._once((level, location, key.root), lambda: call.checked_value(key.root, key.root))
            case _:
                steps = (key.root, *key.segments)
                value = self._once((level, location, key.text), lambda: call.checked_value(key.text, steps))
                return value if value is MISSING else key.undig(value)

    def _cache_of(self, level: Level, location: Location | None) -> dict[Any, Any]:
        return self._cached.setdefault((level, location), {})

    def _once(self, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if arguments not in self._results:
            self._results[arguments] = make()
        return self._results[arguments]

    def _from_hash(self, call: "_Call", key: Key, invocation: Invocation) -> Any:
        entries = self._once((call.level, call.location), call.entries)
        if not isinstance(entries, Hash) or not entries.has(key.root):
            return MISSING
        value = check_data(entries[key.root], f"Value for key '{key.root}', in hash returned from {call.title}")
        return Interpolator(self._layer.lookups, invocation, methods=True).value(value)

    def _decrypt(self, options: Hash, location: Location | None, key: Key, invocation: Invocation) -> Any:
        if location is None or location.is_uri:
            raise issues.NEEDS_PATH.error(name="eyaml_lookup_key")
        source = self._layer.lookups.source(location, "yaml_data")
        raw = source.raw(key.root) if source.exists else None
        if raw is None:
            return MISSING
        texts = Interpolator(self._layer.lookups, invocation, methods=True)
        return eyaml.decrypt_value(self._layer.lookups.host.inputs, options, raw.value, texts, key.root, source)

    def _secret(self, level: Level, options: Hash, location: Location | None, key: Key) -> Any:
        if level.function == SECRETS:
            return secrets.find_secret(self._layer, options, location, key)
        return secrets.find_in_vault(self._layer, options, key)


class _Call:
    """A call of one function for one location."""

    def __init__(
        self,
        layer: "Layer",
        level: Level,
        options: Hash,
        location: Location | None,
        invocation: Invocation,
        cached: dict[Any, Any],
    ) -> None:
        self._layer = layer
        self.level = level
        self.location = location
        self._invocation = invocation
        self._cached = cached
        self._options = options if location is None else options.merged(_location_option(layer, location))
        where = "" if location is None else f", when using location '{layer.shown(location)}',"
        self.title = f"{level.kind} function '{level.function}'{where}"

    def entries(self) -> Any:
        entries = self._call(())
        if isinstance(entries, Hash):
            self._layer.warn_of_names(entries, lambda start, end: f"{start}{self.title}{end}")
        elif entries is not MISSING:
            subject = f"Value returned from {self.title} has wrong type,"
            raise issues.WRONG_DATA.error(reason=mismatch.describe(subject, _HASH, entries))
        return entries

    def checked_value(self, name: str, key: Any) -> Any:
        value = self._call((key,))
        return value if value is MISSING else check_data(value, f"Value for key '{name}', returned from {self.title}")

    def _call(self, first: tuple[Any, ...]) -> Any:
        context = LookupContext(self._layer.lookups, self._invocation, self._layer.module, self._cached)
        host, name = self._layer.lookups.host, self.level.function
        try:
            return host.call_function(self._invocation.scope, name, (*first, self._options, context))
        except NotFound:
            return MISSING
        except PrecastError as error:
            if issues_compiler.UNKNOWN_FUNCTION.matches(error) and f"{name}'" in error.message:
                raise issues.NO_DATA_FUNCTION.error(
                    path=self._layer.config.path, kind=self.level.kind, name=name, guess=did_you_mean(name, _KNOWN)
                ) from None
            raise


def _location_option(layer: "Layer", location: Location) -> Hash:
    return Hash.of((("uri" if location.is_uri else "path", layer.shown(location)),))
