"""Looks up keys through the three layers, and applies `lookup_options`.

One object serves one compile. A module's data is searched only for keys that begin with the module's name; its `default_hierarchy`
only if nothing else has the key.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.functions.host import Host
from precast.lang.hiera import issues
from precast.lang.hiera.interpolation import variables_in
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import OPTIONS, Key, parse_key
from precast.lang.hiera.merge_strategies import DEFAULT, HASHES, Strategy, merge_variants, strategy_for
from precast.lang.hiera.options import KeyOptions, check_options, combine_options
from precast.lang.inputs import ABSENT, Constant
from precast.lang.issues import functions as function_issues
from precast.lang.scope import MISSING
from precast.lang.values.base import Hash, has_sensitive, literal

if TYPE_CHECKING:
    from precast.lang.hiera.config import LayerKind, Level
    from precast.lang.hiera.data.sources import DataSource
    from precast.lang.hiera.layers import Layer
    from precast.lang.hiera.locations import Location

FILE_NAME: Final = "hiera.yaml"
_OPTIONS_KEY: Final = parse_key(OPTIONS)
_STACK: Final = ("global", "environment", "module")


class Lookups:
    """All lookups of one compile."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._layers: dict[str, Layer | None] = {}
        self._sources: dict[tuple[Any, str], DataSource] = {}
        self._options: dict[tuple[bool, str | None], KeyOptions] = {}
        self._default_options: dict[str, KeyOptions] = {}
        self._shared_options: dict[bool, list[Hash]] = {}
        self._in_progress: list[str] = []
        # Where the value of a key was found: which variables have chosen it matters if it is Sensitive.
        self._places: dict[str, dict[tuple[Level, Location | None], None]] = {}
        # Counts reads whose result may differ in another scope; a value found without such reads can be cached.
        self.scope_reads = 0

    def find(self, invocation: Invocation, name: str, merge: Any) -> Any:
        """The value of a key, converted as its options say; MISSING if there is none. Raises PrecastError."""
        if name == OPTIONS or name.startswith(f"{OPTIONS}."):
            if invocation.explainer is not None:
                invocation.explainer.say(f'Invalid key "{OPTIONS}"')
            return MISSING
        key = parse_key(name)
        invocation = invocation._replace(module=key.module)
        options = self._options_for(invocation).of(key.root)
        if merge is None:
            merge = options.get("merge")
            if merge is not None and invocation.explainer is not None:
                invocation.explainer.say('Using merge options from "lookup_options" hash')
        value = self._data(key, invocation, merge)
        if value is MISSING:
            return MISSING
        convert_to = options.get("convert_to")
        if convert_to is not None:
            is_clear = not has_sensitive(value)
            value = self._convert(key, value, convert_to, invocation)
            if is_clear and has_sensitive(value):
                self.host.fact_choices.note_clear_text(key.root)
        if key.root in self._places and has_sensitive(value):
            self._check_places(key.root, invocation)
        return value

    def note_place(self, key: str, level: "Level", location: "Location | None") -> None:
        """Record where a value of a key was found."""
        self._places.setdefault(key, {})[level, location] = None

    def _check_places(self, key: str, invocation: Invocation) -> None:
        """Report facts in the paths from which a Sensitive came. Raises SECRET-033 where the policy refuses it."""
        for level, location in self._places[key]:
            is_mapped = level.location_kind == "mapped"
            texts = (level.datadir, "" if location is None else location.declared)
            names = set(variables_in((*texts, level.options) if level.is_secret else texts))
            if is_mapped:
                variable, own, _ = level.locations
                names = names - {own} | {variable.partition(".")[0]}
            what = f"the level '{level.name}' of the hierarchy, for the key '{key}'"
            self.host.fact_choices.check(invocation.scope, sorted(names), what)

    def check_merge(self, merge: Any) -> None:
        """Raises HIERA-040, HIERA-041 or HIERA-042 for an invalid merge strategy."""
        strategy_for(merge)

    def known_keys(self) -> list[str]:
        """The keys of all data files read so far, to suggest a correction for a mistyped key."""
        contents = (source.content().entries for source in self._sources.values() if source.exists)
        return sorted({key for entries in contents for key in entries if isinstance(key, str)})

    def _data(self, key: Key, invocation: Invocation, merge: Any) -> Any:
        explainer = invocation.explainer
        if explainer is None:
            return self._search(key, invocation, merge)
        with explainer.within(f'Searching for "{key.text}"'):
            return self._search(key, invocation, merge)

    def _search(self, key: Key, invocation: Invocation, merge: Any) -> Any:
        value = self._in_layers(key, invocation, strategy_for(merge))
        if value is not MISSING:
            value = key.dig(value)
        if value is MISSING and not invocation.only_global:
            value = self._in_default(key, invocation)
            if value is not MISSING:
                value = key.dig(value)
        return value

    def _in_layers(self, key: Key, invocation: Invocation, strategy: Strategy) -> Any:
        if invocation.only_global:
            return self._in_layer("global", key, invocation, strategy)
        if strategy is DEFAULT:
            for kind in _STACK:
                value = self._in_layer(kind, key, invocation, strategy)
                if value is not MISSING:
                    return value
            return MISSING
        return merge_variants(
            strategy, _STACK, lambda kind: self._in_layer(kind, key, invocation, strategy), invocation.explainer
        )

    def _in_layer(self, kind: str, key: Key, invocation: Invocation, strategy: Strategy) -> Any:
        if kind == "module":
            if invocation.module is None:
                return MISSING
            layer = self.module_layer(invocation.module)
            if layer is None and invocation.explainer is not None:
                self._say_no_module(invocation)
        else:
            layer = self.global_layer() if kind == "global" else self.environment_layer()
            if layer is None and invocation.explainer is not None:
                where = (
                    "no hiera.yaml configured" if kind == "global" else "the environment has no hiera.yaml of version 5"
                )
                invocation.explainer.say(f"{kind.capitalize()} layer: {where}")
        return MISSING if layer is None else layer.lookup(key, invocation, strategy)

    def _say_no_module(self, invocation: Invocation) -> None:
        assert invocation.explainer is not None
        assert invocation.module is not None
        exists = self.host.module_directory(invocation.scope, invocation.module) is not None
        what = f"has no {FILE_NAME}" if exists else "not found"
        invocation.explainer.say(f'Module "{invocation.module}" {what}')

    def _in_default(self, key: Key, invocation: Invocation) -> Any:
        module = invocation.module
        layer = self.module_layer(module) if module is not None else None
        if layer is None or module is None or layer.config.defaults is None:
            return MISSING
        explainer = invocation.explainer
        with (
            explainer.within(f'Searching default_hierarchy of module "{module}"')
            if explainer
            else contextlib.nullcontext()
        ):
            if module not in self._default_options:
                options = layer.lookup_default(_OPTIONS_KEY, invocation._replace(explainer=None), HASHES)
                self._default_options[module] = KeyOptions.of_hash(
                    None if options is MISSING else check_options(options, module)
                )
            merge = self._default_options[module].of(key.root).get("merge")
            return layer.lookup_default(key, invocation, strategy_for(merge))

    # Options

    def _options_for(self, invocation: Invocation) -> KeyOptions:
        """The options that apply to keys of the invocation's module."""
        cache_key = (invocation.only_global, invocation.module)
        options = self._options.get(cache_key)
        if options is None:
            explainer = invocation.explainer
            plain = Invocation(
                invocation.scope, explainer=explainer, module=invocation.module, only_global=invocation.only_global
            )
            if explainer is None:
                given = self._find_options(plain)
            else:
                with explainer.within(f'Searching for "{OPTIONS}"'):
                    given = self._find_options(plain)
            options = self._options[cache_key] = KeyOptions.of_hash(given)
        return options

    def _find_options(self, invocation: Invocation) -> Hash | None:
        is_global = invocation.only_global
        if is_global not in self._shared_options:
            kinds = ("global",) if is_global else ("global", "environment")
            self._shared_options[is_global] = [
                options for kind in kinds for options in self._options_in(kind, invocation)
            ]
        own = [] if is_global else self._options_in("module", invocation)
        return combine_options([*self._shared_options[is_global], *own])

    def _options_in(self, kind: str, invocation: Invocation) -> list[Hash]:
        value = self._in_layer(kind, _OPTIONS_KEY, invocation, HASHES)
        if value is MISSING or value is None:
            return []
        return [check_options(value, invocation.module if kind == "module" else None)]

    def _convert(self, key: Key, value: Any, convert_to: Any, invocation: Invocation) -> Any:
        wanted, *rest = convert_to if isinstance(convert_to, tuple) else (convert_to,)
        if isinstance(wanted, str):
            try:
                wanted = self.host.parse_type(invocation.scope, wanted)
            except PrecastError as error:
                raise issues.BAD_CONVERT_TYPE.error(key=key.text, type=wanted, reason=error.message) from None
        try:
            converted = self.host.call_function(invocation.scope, "new", (wanted, value, *rest))
        except PrecastError as error:
            raise issues.NOT_CONVERTED.error(key=key.text, reason=error.message) from None
        if invocation.explainer is not None:
            shown = literal((wanted, *rest))
            invocation.explainer.say(f"Applying convert_to lookup_option with arguments {shown}")
        return converted

    # References in interpolated strings

    def find_referenced(self, invocation: Invocation, name: str) -> Any:
        """The value of a key that a string refers to; an empty string if there is none."""
        if name in invocation.overrides:
            return invocation.overrides[name]
        value = self.find(invocation, name, None)
        if value is not MISSING:
            return value
        return invocation.defaults.get(name, "")

    @contextlib.contextmanager
    def guarded(self, name: str) -> Iterator[None]:
        """Guard against endless recursion: raises HIERA-036 if a lookup of the name is already in progress."""
        if name in self._in_progress:
            raise issues.RECURSION.error(names=", ".join(self._in_progress))
        self._in_progress.append(name)
        try:
            yield
        finally:
            self._in_progress.pop()

    # Layers

    def has_environment_data(self) -> bool:
        return self.environment_layer() is not None

    def global_layer(self) -> "Layer | None":
        if "" not in self._layers:
            path = self.host.inputs.ask(Constant("hiera_config"))
            self._layers[""] = None if path is ABSENT else self._layer("global", str(path), "the deployment")
        return self._layers[""]

    def environment_layer(self) -> "Layer | None":
        if "environment" not in self._layers:
            self._layers["environment"] = self._layer("environment", FILE_NAME, "the environment root")
        return self._layers["environment"]

    def module_layer(self, name: str) -> "Layer | None":
        key = f"module {name}"
        if key not in self._layers:
            directory = self.host.module_directory(None, name)
            self._layers[key] = (
                None if directory is None else self._layer("module", f"{directory}/{FILE_NAME}", "module root", name)
            )
        return self._layers[key]

    def _layer(self, kind: "LayerKind", path: str, place: str, module: str = "") -> "Layer | None":
        text = self.host.inputs.text(path)
        if text is None:
            return None
        from precast.lang.hiera.config import Config, read_config  # imports YAML, only if there is a file to read
        from precast.lang.hiera.layers import Layer

        config = read_config(text[0], text[1], path, kind)
        if isinstance(config, Config):
            return Layer(self, kind, config, path.removesuffix(FILE_NAME).rstrip("/"), module)
        if config == 4 or kind == "global" or self.host.settings.strict == "error":
            raise issues.OLD_VERSION.error(path=path, version=config)
        self.host.warn_once(f"hiera 3 {path}", issues.OLD_VERSION_IGNORED.error(place=place).message)
        return None

    def file_text(self, path: str) -> str:
        """The text of a file that a function names. Raises HIERA-021 if it is outside, LANG-442 if it does not exist."""
        inside = self.host.environment_path(path) if path.startswith("/") else path
        if inside is None:
            raise issues.OUTSIDE.error(path=path, layer="environment")
        text = self.host.inputs.text(inside)
        if text is None:
            raise function_issues.NO_FILE.error(paths=path)
        return text[1]

    def whole_file(self, path: str, reader: str) -> Hash:
        """The entries of a data file that a function names."""
        from precast.lang.hiera.data.files import READERS

        document = READERS[reader](Source(path, self.file_text(path)))
        return document if isinstance(document, Hash) else Hash()

    def source(self, location: "Location", reader: str) -> "DataSource":
        key = (location.path, reader)
        source = self._sources.get(key)
        if source is None:
            from precast.lang.hiera.data.sources import DataSource

            source = self._sources[key] = DataSource(self.host, location, reader)
        return source
