"""Puppet::LookupContext, which a data function receives besides its options.

A Puppet function calls it with methods: `$context.not_found()`. Its cache lasts for the compile, for one level and location.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from precast.lang.datatypes.library import LOOKUP_CONTEXT
from precast.lang.functions.mismatches import count_mismatch
from precast.lang.hiera import issues
from precast.lang.hiera.interpolation import Interpolator
from precast.lang.hiera.invocation import Invocation
from precast.lang.values.base import ActiveObject, Hash, Iterator, to_string

if TYPE_CHECKING:
    from precast.lang.functions.host import Block
    from precast.lang.hiera.lookups import Lookups

# Each function with the minimum and maximum number of arguments.
_COUNTS: Final = {
    "not_found": (0, 0),
    "explain": (0, 0),
    "interpolate": (1, 1),
    "cache": (2, 2),
    "cache_all": (1, 1),
    "cache_has_key": (1, 1),
    "cached_value": (1, 1),
    "cached_entries": (0, 0),
    "cached_file_data": (1, 1),
}


class NotFound(Exception):
    """The function has no value for the requested key."""


class LookupContext(ActiveObject):
    """A context for one call; the calls for one level and location share `cached`."""

    __slots__ = ("_cached", "_invocation", "_lookups")

    def __init__(self, lookups: "Lookups", invocation: Invocation, module: str, cached: dict[Any, Any]) -> None:
        environment = lookups.host.settings.environment
        attributes = Hash.of((("environment_name", environment), ("module_name", module or None)))
        super().__init__(LOOKUP_CONTEXT, attributes)
        self._lookups = lookups
        self._invocation = invocation
        self._cached = cached

    def function(self, name: str) -> "Callable[[Sequence[Any], Block | None], Any] | None":
        if name not in _COUNTS:
            return None
        minimum, maximum = _COUNTS[name]

        def call(args: Sequence[Any], block: "Block | None") -> Any:
            if not minimum <= len(args) <= maximum:
                raise issues.BAD_CONTEXT_CALL.error(name=name, reason=count_mismatch(minimum, maximum, len(args)))
            return getattr(self, f"_{name}")(*args, block)

        return call

    def data(self, path: str, reader: str) -> Hash:
        """The content of a data file; the trace records the whole file."""
        return self._lookups.whole_file(path, reader)

    def _not_found(self, block: Any) -> None:
        raise NotFound

    def _explain(self, block: Any) -> None:
        if block is None:
            raise issues.BAD_CONTEXT_CALL.error(name="explain", reason="expects a block")
        if self._invocation.explainer is not None:
            self._invocation.explainer.say(to_string(block.call()))

    def _interpolate(self, value: Any, block: Any) -> Any:
        return Interpolator(self._lookups, self._invocation, methods=True).value(value)

    def _cache(self, key: Any, value: Any, block: Any) -> Any:
        self._cached[key] = value
        return value

    def _cache_all(self, values: Any, block: Any) -> None:
        if not isinstance(values, Hash):
            raise issues.BAD_CONTEXT_CALL.error(name="cache_all", reason="expects a Hash")
        self._cached.update(values)

    def _cache_has_key(self, key: Any, block: Any) -> bool:
        return key in self._cached

    def _cached_value(self, key: Any, block: Any) -> Any:
        return self._cached.get(key)

    def _cached_entries(self, block: Any) -> Any:
        entries = tuple(self._cached.items())
        if block is None:
            from precast.lang.datatypes import infer

            return Iterator(entries, infer(entries[0]) if entries else infer(None))
        for key, value in entries:
            if block.max_args == 1:
                block.call((key, value))
            else:
                block.call(key, value)
        return None

    def _cached_file_data(self, path: Any, block: Any) -> Any:
        """The text of a file of the environment, or the block's result for it."""
        text = self._lookups.file_text(str(path))
        return text if block is None else block.call(text)
