"""Functions that give data, named in hiera.yaml: eyaml, and those that are written in Puppet's language.

A `data_hash` function gives all its data at once, a `lookup_key` function the value of a key, a `data_dig` function also what lies
below it. Each is called once in a compile for what it was asked.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from precast.base.errors import PrecastError
from precast.lang.compiler.guesses import did_you_mean
from precast.lang.datatypes import mismatch, parse_type
from precast.lang.hiera import issues
from precast.lang.hiera.config import Level
from precast.lang.hiera.context import LookupContext, NotFound
from precast.lang.hiera.data import eyaml
from precast.lang.hiera.data.files import READERS
from precast.lang.hiera.interpolation import Interpolator
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import Key
from precast.lang.hiera.levels import check_data
from precast.lang.hiera.locations import Location
from precast.lang.issues import compiler as issues_compiler
from precast.lang.scope import MISSING
from precast.lang.values.core import Hash

if TYPE_CHECKING:
    from precast.lang.hiera.layers import Layer

_HASH: Final = parse_type("Hash")
_UNSUPPORTED: Final = ("hocon_data",)
_KNOWN: Final = (*READERS, "eyaml_lookup_key")


class DataFunctions:
    """Calls the functions of one layer's levels, and keeps what they gave."""

    def __init__(self, layer: "Layer") -> None:
        self._layer = layer
        self._given: dict[tuple[Any, ...], Any] = {}
        self._cached: dict[tuple[Any, ...], dict[Any, Any]] = {}

    def value(self, level: Level, options: Hash, place: Location | None, key: Key, invocation: Invocation) -> Any:
        """What the function gives for a key; MISSING if it has none. Raises HIERA-022 to HIERA-024."""
        if level.function in _UNSUPPORTED:
            raise issues.UNSUPPORTED_FUNCTION.error(path=self._layer.config.path, name=level.function)
        if level.function == "eyaml_lookup_key" and level.kind == "lookup_key":
            return self._secret(options, place, key, invocation)
        if place is not None and not place.is_uri and not self._layer.lookups.source(place, "yaml_data").exists:
            return MISSING
        call = _Call(self._layer, level, options, place, invocation, self._cache_of(level, place))
        match level.kind:
            case "data_hash":
                return self._from_hash(call, key, invocation)
            case "lookup_key":
                return self._once((level, place, key.root), lambda: call.checked(key.root, key.root))
            case _:
                steps = (key.root, *key.segments)
                value = self._once((level, place, key.text), lambda: call.checked(key.text, steps))
                return value if value is MISSING else key.undig(value)

    def _cache_of(self, level: Level, place: Location | None) -> dict[Any, Any]:
        return self._cached.setdefault((level, place), {})

    def _once(self, what: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if what not in self._given:
            self._given[what] = make()
        return self._given[what]

    def _from_hash(self, call: "_Call", key: Key, invocation: Invocation) -> Any:
        entries = self._once((call.level, call.place), call.entries)
        if not isinstance(entries, Hash) or not entries.has(key.root):
            return MISSING
        value = check_data(entries[key.root], f"Value for key '{key.root}', in hash returned from {call.title}")
        return Interpolator(self._layer.lookups, invocation, methods=True).value(value)

    def _secret(self, options: Hash, place: Location | None, key: Key, invocation: Invocation) -> Any:
        if place is None or place.is_uri:
            raise issues.NEEDS_PATH.error(name="eyaml_lookup_key")
        source = self._layer.lookups.source(place, "yaml_data")
        raw = source.raw(key.root) if source.exists else None
        if raw is None:
            return MISSING
        texts = Interpolator(self._layer.lookups, invocation, methods=True)
        return eyaml.decrypted(self._layer.lookups.host.inputs, options, raw.value, texts, key.root, source)


class _Call:
    """A call of one function for one place."""

    def __init__(
        self,
        layer: "Layer",
        level: Level,
        options: Hash,
        place: Location | None,
        invocation: Invocation,
        cached: dict[Any, Any],
    ) -> None:
        self._layer = layer
        self.level = level
        self.place = place
        self._invocation = invocation
        self._cached = cached
        self._options = options if place is None else options.merged(_located(layer, place))
        where = "" if place is None else f", when using location '{layer.shown(place)}',"
        self.title = f"{level.kind} function '{level.function}'{where}"

    def entries(self) -> Any:
        found = self._run(())
        if isinstance(found, Hash):
            self._layer.warn_of_names(found, lambda start, end: f"{start}{self.title}{end}")
        elif found is not MISSING:
            subject = f"Value returned from {self.title} has wrong type,"
            raise issues.WRONG_DATA.error(reason=mismatch.describe(subject, _HASH, found))
        return found

    def checked(self, name: str, asked: Any) -> Any:
        value = self._run((asked,))
        return value if value is MISSING else check_data(value, f"Value for key '{name}', returned from {self.title}")

    def _run(self, first: tuple[Any, ...]) -> Any:
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


def _located(layer: "Layer", place: Location) -> Hash:
    return Hash.of((("uri" if place.is_uri else "path", layer.shown(place)),))
