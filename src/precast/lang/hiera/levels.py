"""A level of a hierarchy in one compile: its places resolved, and the function that gives the data at each."""

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
from precast.lang.hiera.merging import Strategy, merged
from precast.lang.scope import MISSING
from precast.lang.values.core import Hash

if TYPE_CHECKING:
    from precast.lang.hiera.layers import Layer

_RICH_DATA: Final = parse_type("RichData")


class ResolvedLevel:
    """Looks a key up at every place of a level. `places` has None where the level has no place of its own."""

    def __init__(self, layer: "Layer", level: Level, places: tuple[Location, ...] | None, options: Hash) -> None:
        self._layer = layer
        self._level = level
        self._options = options
        self._places: tuple[Location | None, ...] = (None,) if places is None else places
        self._title = f'Hierarchy entry "{level.name}"'

    def has_data(self) -> bool:
        """Whether some place of it has a file, or it needs none."""
        return any(place is None or place.is_uri or self._source(place).exists for place in self._places)

    def lookup(self, key: Key, invocation: Invocation, how: Strategy) -> Any:
        """The value that the level's places give together; MISSING if none has one."""

        def fetch(place: Location | None) -> Any:
            return self._at(place, key, invocation)

        explainer = invocation.explainer
        if explainer is None:
            return merged(how, self._places, fetch, None)
        with explainer.within(self._title):
            if not self._places:
                what = "files match" if self._level.location_kind == "glob" else "values for the paths"
                explainer.say(f"No {what}: {', '.join(self._level.locations)}")
                return MISSING
            return merged(how, self._places, fetch, explainer)

    def _at(self, place: Location | None, key: Key, invocation: Invocation) -> Any:
        explainer = invocation.explainer
        if explainer is None:
            return self._value(place, key, invocation)
        if place is None:
            return _explained(key, self._value(place, key, invocation), explainer)
        shown = self._layer.shown(place)
        with explainer.within(f'{"URI" if place.is_uri else "Path"} "{shown}"', declared=place.declared):
            if not place.is_uri and not self._source(place).exists:
                explainer.say("Path not found")
                return MISSING
            return _explained(key, self._value(place, key, invocation), explainer)

    def _value(self, place: Location | None, key: Key, invocation: Invocation) -> Any:
        if self._level.function in READERS and self._level.kind == "data_hash":
            return self._from_file(place, key, invocation)
        self._layer.lookups.scope_reads += 1
        return self._layer.functions.value(self._level, self._options, place, key, invocation)

    def _source(self, place: Location) -> DataSource:
        reader = self._level.function if self._level.function in READERS else "yaml_data"
        return self._layer.lookups.source(place, reader)

    def _from_file(self, place: Location | None, key: Key, invocation: Invocation) -> Any:
        if place is None or place.is_uri:
            raise issues.NEEDS_PATH.error(name=self._level.function)
        source = self._source(place)
        if not source.exists:
            return MISSING
        raw = source.raw(key.root)
        self._layer.check_names(source, self._level.function)
        if raw is None:
            return MISSING
        if not raw.is_open:
            return raw.value
        self._layer.lookups.scope_reads += 1
        try:
            return Interpolator(self._layer.lookups, invocation, methods=True).value(raw.value)
        except PrecastError as error:
            if error.source is None:
                source.give_place(error, key.root)
            raise


def _explained(key: Key, value: Any, explainer: Any) -> Any:
    if value is MISSING:
        explainer.not_found(key.root)
    else:
        explainer.found(key.root, value)
    return value


def check_data(value: Any, subject: str) -> Any:
    """A value that a function gave, if it is data. Raises HIERA-006."""
    if not _RICH_DATA.check(value):
        raise issues.WRONG_DATA.error(
            reason=f"{subject} has wrong type, expects Puppet::LookupValue, got {infer(value)}"
        )
    return value


def is_own(name: Any, module: str) -> bool:
    """Whether a module's data may have this key."""
    return name == OPTIONS or (isinstance(name, str) and name.startswith(f"{module}::"))
