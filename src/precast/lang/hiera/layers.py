"""A layer of Hiera: the global one, that of the environment, or that of one module; each has its hiera.yaml.

The locations of its levels are resolved once for each set of values of the variables in them. Facts and trusted data cannot change
during a compile; other variables are read in each scope.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from precast.lang.hiera.config import Config, LayerKind, Level
from precast.lang.hiera.data.functions import DataFunctions
from precast.lang.hiera.data.sources import DataSource
from precast.lang.hiera.interpolation import Expression, Interpolator, parse_template
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import Key, split
from precast.lang.hiera.levels import ResolvedLevel, is_own
from precast.lang.hiera.locations import Location, Resolver
from precast.lang.hiera.merge_strategies import FirstFound, Strategy, merge_variants
from precast.lang.hiera.variables import FIXED_ROOTS, value_of
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.scope import MISSING
from precast.lang.values.base import Hash

if TYPE_CHECKING:
    from precast.lang.hiera.lookups import Lookups

_NOT_CACHED: Final = object()


class ResolvedHierarchy:
    """The levels for one set of variables, and a cache of the values in them that do not depend on the scope."""

    def __init__(self, levels: tuple[ResolvedLevel, ...]) -> None:
        self.levels = levels
        self.cached: dict[tuple[Any, ...], Any] = {}

    @cached_property
    def present(self) -> tuple[ResolvedLevel, ...]:
        """The levels that have data. A lookup of the first value skips the others instead of trying them for each key."""
        return tuple(level for level in self.levels if level.has_data())


class Layer:
    """One layer with a hiera.yaml of version 5."""

    def __init__(self, lookups: "Lookups", kind: LayerKind, config: Config, root: str, module: str = "") -> None:
        self.lookups = lookups
        self.kind = kind
        self.config = config
        self.module = module
        self.functions = DataFunctions(self)
        allowed = (root,) if root.startswith("/") else ()
        self._resolver = Resolver(lookups.host, root, "module" if module else kind, allowed)
        self._variables = _scope_variables(config)
        self._resolved: dict[tuple[Any, ...], tuple[ResolvedHierarchy, ResolvedHierarchy]] = {}
        self._checked: set[int] = set()

    @property
    def title(self) -> str:
        name = f' "{self.module}"' if self.module else ""
        return f"{self.kind.capitalize()}{name} Data Provider (hiera configuration version 5)"

    def lookup(self, key: Key, invocation: Invocation, strategy: Strategy) -> Any:
        """The hierarchy's value for a key, or MISSING. Raises HIERA-036 if a lookup of the key is already in progress here."""
        return self._search(key, invocation, strategy, 0)

    def lookup_default(self, key: Key, invocation: Invocation, strategy: Strategy) -> Any:
        """As lookup, but in a module's default_hierarchy."""
        return self._search(key, invocation, strategy, 1)

    def _search(self, key: Key, invocation: Invocation, strategy: Strategy, which: int) -> Any:
        resolved = self._hierarchies(invocation)[which]
        if invocation.explainer is not None:
            return self._walk(resolved, key, invocation, strategy)
        cache_key = (key.text, strategy.name, strategy.options)
        value = resolved.cached.get(cache_key, _NOT_CACHED)
        if value is _NOT_CACHED:
            before = self.lookups.scope_reads
            value = self._walk(resolved, key, invocation, strategy)
            if self.lookups.scope_reads == before:
                resolved.cached[cache_key] = value
        return value

    def _walk(self, resolved: ResolvedHierarchy, key: Key, invocation: Invocation, strategy: Strategy) -> Any:
        def fetch(level: ResolvedLevel) -> Any:
            return level.lookup(key, invocation, strategy)

        explainer = invocation.explainer
        with self.lookups.guarded(key.text):
            if explainer is None:
                levels = resolved.present if isinstance(strategy, FirstFound) else resolved.levels
                return merge_variants(strategy, levels, fetch, None)
            with explainer.within(self.title, file=self.lookups.host.shown_path(self.config.path)):
                if not resolved.levels:
                    explainer.not_found(key.text)
                return merge_variants(strategy, resolved.levels, fetch, explainer)

    def _hierarchies(self, invocation: Invocation) -> tuple[ResolvedHierarchy, ResolvedHierarchy]:
        values = tuple([self._variable(name, invocation) for name in self._variables])
        hierarchies = self._resolved.get(values)
        if hierarchies is None:
            quiet = invocation._replace(explainer=None)
            levels = self._resolve(self.config.levels, quiet)
            hierarchies = self._resolved[values] = levels, self._resolve(self.config.defaults or (), quiet)
        return hierarchies

    def _variable(self, name: str, invocation: Invocation) -> Any:
        if name.isidentifier() and not invocation.overrides:
            value = invocation.scope.find(name)
            if value is not MISSING:
                return value
        segments = split(name)
        if segments is None:
            return None
        return value_of(self.lookups.host, invocation._replace(explainer=None), name, segments, {})

    def _resolve(self, levels: tuple[Level, ...], invocation: Invocation) -> ResolvedHierarchy:
        texts = Interpolator(self.lookups, invocation, methods=False)
        locations = Interpolator(self.lookups, invocation, methods=False, is_location=True)
        return ResolvedHierarchy(
            tuple(
                ResolvedLevel(self, level, self._resolver.locations(level, locations), texts.value(level.options))
                for level in levels
            )
        )

    def shown(self, location: Location) -> str:
        """A location as messages show it; asks for its holes."""
        host = self.lookups.host
        path = ruby_text(host.concrete(location.shown, None))
        return path if location.is_uri else host.shown_path(path)

    def check_names(self, source: DataSource, function: str) -> None:
        """Warn once about keys in a module's data that lack the module's prefix: no lookup can find them."""
        if not self.module or id(source) in self._checked:
            return
        self._checked.add(id(source))
        entries = source.content().entries
        if not all(is_own(name, self.module) for name in entries):
            before, after = f"data_hash function '{function}', when using location '", "',"
            self.warn_of_names(entries, lambda start, end: source.sentence(start + before, after + end))

    def warn_of_names(self, entries: Hash, titled: Callable[[str, str], Any]) -> None:
        start = f"Module '{self.module}': Value returned from "
        for name in entries:
            if self.module and not is_own(name, self.module):
                self.lookups.host.log("warning", titled(start, " must use keys qualified with the name of the module"))


def _scope_variables(config: Config) -> tuple[str, ...]:
    """The variables in a hiera.yaml whose values may differ between scopes."""
    names: dict[str, None] = {}
    for level in (*config.levels, *(config.defaults or ())):
        own = level.locations[1] if level.location_kind == "mapped" else None
        if level.location_kind == "mapped":
            names[level.locations[0]] = None
        for text in (*level.locations, level.datadir, *_texts(level.options)):
            for part in parse_template(text).parts if "%{" in text else ():
                if isinstance(part, Expression) and part.is_variable and _root(part.argument) != own:
                    names[part.argument] = None
    return tuple(name for name in names if _root(name) not in FIXED_ROOTS)


def _root(name: str) -> str:
    return str((split(name) or ("",))[0])


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, tuple):
        return tuple(text for item in value for text in _texts(item))
    if isinstance(value, Hash):
        return tuple(text for pair in value.items() for item in pair for text in _texts(item))
    return ()
