"""A level of a hierarchy in one compile: its resolved locations, and the function that provides the data at each."""

from typing import TYPE_CHECKING, Any, Final

from precast.base.errors import PrecastError
from precast.lang.datatypes import infer, parse_type
from precast.lang.hiera import issues
from precast.lang.hiera.config import Level
from precast.lang.hiera.data.files import READERS
from precast.lang.hiera.data.sources import DataSource
from precast.lang.hiera.interpolation import Interpolator
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import OPTIONS, Key
from precast.lang.hiera.locations import Location
from precast.lang.hiera.merge_strategies import Strategy, merge_variants
from precast.lang.scope import MISSING
from precast.lang.values.base import Hash

if TYPE_CHECKING:
    from precast.lang.hiera.layers import Layer

_RICH_DATA: Final = parse_type("RichData")


class ResolvedLevel:
    """Looks up a key at every location of a level; a level without locations has the single location None."""

    def __init__(self, layer: "Layer", level: Level, locations: tuple[Location, ...] | None, options: Hash) -> None:
        self._layer = layer
        self._level = level
        self._options = options
        self._locations: tuple[Location | None, ...] = (None,) if locations is None else locations
        self._title = f'Hierarchy entry "{level.name}"'

    def has_data(self) -> bool:
        """Whether a location of the level has a file, or needs none."""
        return any(location is None or location.is_uri or self._source(location).exists for location in self._locations)

    def lookup(self, key: Key, invocation: Invocation, strategy: Strategy) -> Any:
        """The merged value of the level's locations; MISSING if none has one."""

        def fetch(location: Location | None) -> Any:
            return self._at(location, key, invocation)

        explainer = invocation.explainer
        if explainer is None:
            return merge_variants(strategy, self._locations, fetch, None)
        with explainer.within(self._title):
            if not self._locations:
                what = "files match" if self._level.location_kind == "glob" else "values for the paths"
                explainer.say(f"No {what}: {', '.join(self._level.locations)}")
                return MISSING
            return merge_variants(strategy, self._locations, fetch, explainer)

    def _at(self, location: Location | None, key: Key, invocation: Invocation) -> Any:
        value = self._explained(location, key, invocation)
        if value is not MISSING:
            self._layer.lookups.note_place(key.root, self._level, location)
        return value

    def _explained(self, location: Location | None, key: Key, invocation: Invocation) -> Any:
        explainer = invocation.explainer
        if explainer is None:
            return self._value(location, key, invocation)
        if location is None:
            return _explain(key, self._value(location, key, invocation), explainer)
        shown = self._layer.shown(location)
        with explainer.within(f'{"URI" if location.is_uri else "Path"} "{shown}"', declared=location.declared):
            if not location.is_uri and not self._source(location).exists:
                explainer.say("Path not found")
                return MISSING
            return _explain(key, self._value(location, key, invocation), explainer)

    def _value(self, location: Location | None, key: Key, invocation: Invocation) -> Any:
        if self._level.function in READERS and self._level.kind == "data_hash":
            return self._from_file(location, key, invocation)
        self._layer.lookups.scope_reads += 1
        return self._layer.functions.value(self._level, self._options, location, key, invocation)

    def _source(self, location: Location) -> DataSource:
        reader = self._level.function if self._level.function in READERS else "yaml_data"
        return self._layer.lookups.source(location, reader)

    def _from_file(self, location: Location | None, key: Key, invocation: Invocation) -> Any:
        if location is None or location.is_uri:
            raise issues.NEEDS_PATH.error(name=self._level.function)
        source = self._source(location)
        if not source.exists:
            return MISSING
        raw = source.raw(key.root)
        self._layer.check_names(source, self._level.function)
        if raw is None:
            return MISSING
        if not raw.has_expressions:
            return raw.value
        self._layer.lookups.scope_reads += 1
        try:
            return Interpolator(self._layer.lookups, invocation, methods=True).value(raw.value)
        except PrecastError as error:
            if error.source is None:
                source.set_place(error, key.root)
            raise


def _explain(key: Key, value: Any, explainer: Any) -> Any:
    if value is MISSING:
        explainer.not_found(key.root)
    else:
        explainer.found(key.root, value)
    return value


def check_data(value: Any, subject: str) -> Any:
    """A data function's result, if it is data. Raises HIERA-006."""
    if not _RICH_DATA.check(value):
        raise issues.WRONG_DATA.error(
            reason=f"{subject} has wrong type, expects Puppet::LookupValue, got {infer(value)}"
        )
    return value


def is_own(name: Any, module: str) -> bool:
    """Whether a module's data may contain this key."""
    return name == OPTIONS or (isinstance(name, str) and name.startswith(f"{module}::"))
