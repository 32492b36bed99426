"""Looks keys up through the three layers, with what `lookup_options` say of them.

One object serves one compile. Module data is only asked for keys that begin with the module's name; its `default_hierarchy` only when
nothing else has the key.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.functions import issues as function_issues
from precast.lang.functions.host import Host
from precast.lang.hiera import issues
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import OPTIONS, Key, parse_key
from precast.lang.hiera.merging import DEFAULT, HASHES, Strategy, merged, strategy
from precast.lang.hiera.options import KeyOptions, combined, validated
from precast.lang.inputs import ABSENT, Constant
from precast.lang.scope import MISSING
from precast.lang.values.core import Hash, literal

if TYPE_CHECKING:
    from precast.lang.hiera.config import LayerKind
    from precast.lang.hiera.data.sources import DataSource
    from precast.lang.hiera.layers import Layer
    from precast.lang.hiera.locations import Location

FILE_NAME: Final = "hiera.yaml"
_OPTIONS_KEY: Final = parse_key(OPTIONS)
_STACK: Final = ("global", "environment", "module")


class Lookups:
    """All look-ups of one compile."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._layers: dict[str, Layer | None] = {}
        self._sources: dict[tuple[Any, str], DataSource] = {}
        self._options: dict[tuple[bool, str | None], KeyOptions] = {}
        self._default_options: dict[str, KeyOptions] = {}
        self._shared_options: dict[bool, list[Hash]] = {}
        self._names: list[str] = []
        # How often something was read that another scope may have otherwise: what was found without is found again so.
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
        return value if convert_to is None else self._converted(key, value, convert_to, invocation)

    def check_merge(self, merge: Any) -> None:
        """Raises HIERA-040, HIERA-041 or HIERA-042 for a merge that there is not."""
        strategy(merge)

    def known_keys(self) -> list[str]:
        """The keys of all data files that were asked so far: for those who mistyped one."""
        found = (source.content().entries for source in self._sources.values() if source.exists)
        return sorted({key for entries in found for key in entries if isinstance(key, str)})

    def _data(self, key: Key, invocation: Invocation, merge: Any) -> Any:
        explainer = invocation.explainer
        if explainer is None:
            return self._searched(key, invocation, merge)
        with explainer.within(f'Searching for "{key.text}"'):
            return self._searched(key, invocation, merge)

    def _searched(self, key: Key, invocation: Invocation, merge: Any) -> Any:
        value = self._in_layers(key, invocation, strategy(merge))
        if value is not MISSING:
            value = key.dig(value)
        if value is MISSING and not invocation.only_global:
            value = self._in_default(key, invocation)
            if value is not MISSING:
                value = key.dig(value)
        return value

    def _in_layers(self, key: Key, invocation: Invocation, how: Strategy) -> Any:
        if invocation.only_global:
            return self._in_layer("global", key, invocation, how)
        if how is DEFAULT:
            for kind in _STACK:
                value = self._in_layer(kind, key, invocation, how)
                if value is not MISSING:
                    return value
            return MISSING
        return merged(how, _STACK, lambda kind: self._in_layer(kind, key, invocation, how), invocation.explainer)

    def _in_layer(self, kind: str, key: Key, invocation: Invocation, how: Strategy) -> Any:
        if kind == "module":
            if invocation.module is None:
                return MISSING
            layer = self.module_layer(invocation.module)
            if layer is None and invocation.explainer is not None:
                self._say_no_module(invocation)
        else:
            layer = self.global_layer() if kind == "global" else self.environment_layer()
            if layer is None and invocation.explainer is not None:
                where = "no hiera.yaml given" if kind == "global" else "the environment has no hiera.yaml of version 5"
                invocation.explainer.say(f"{kind.capitalize()} layer: {where}")
        return MISSING if layer is None else layer.lookup(key, invocation, how)

    def _say_no_module(self, invocation: Invocation) -> None:
        assert invocation.explainer is not None
        assert invocation.module is not None
        is_there = self.host.module_directory(invocation.scope, invocation.module) is not None
        what = f"has no {FILE_NAME}" if is_there else "not found"
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
                found = layer.lookup_default(_OPTIONS_KEY, invocation._replace(explainer=None), HASHES)
                self._default_options[module] = KeyOptions.of_hash(
                    None if found is MISSING else validated(found, module)
                )
            merge = self._default_options[module].of(key.root).get("merge")
            return layer.lookup_default(key, invocation, strategy(merge))

    # Options

    def _options_for(self, invocation: Invocation) -> KeyOptions:
        """The options that hold for keys of the invocation's module."""
        which = (invocation.only_global, invocation.module)
        found = self._options.get(which)
        if found is None:
            explainer = invocation.explainer
            plain = Invocation(
                invocation.scope, explainer=explainer, module=invocation.module, only_global=invocation.only_global
            )
            if explainer is None:
                given = self._found_options(plain)
            else:
                with explainer.within(f'Searching for "{OPTIONS}"'):
                    given = self._found_options(plain)
            found = self._options[which] = KeyOptions.of_hash(given)
        return found

    def _found_options(self, invocation: Invocation) -> Hash | None:
        is_global = invocation.only_global
        if is_global not in self._shared_options:
            kinds = ("global",) if is_global else ("global", "environment")
            self._shared_options[is_global] = [each for kind in kinds for each in self._options_in(kind, invocation)]
        own = [] if is_global else self._options_in("module", invocation)
        return combined([*self._shared_options[is_global], *own])

    def _options_in(self, kind: str, invocation: Invocation) -> list[Hash]:
        value = self._in_layer(kind, _OPTIONS_KEY, invocation, HASHES)
        if value is MISSING or value is None:
            return []
        return [validated(value, invocation.module if kind == "module" else None)]

    def _converted(self, key: Key, value: Any, convert_to: Any, invocation: Invocation) -> Any:
        wanted, *rest = convert_to if isinstance(convert_to, tuple) else (convert_to,)
        if isinstance(wanted, str):
            try:
                wanted = self.host.parse_type(invocation.scope, wanted)
            except PrecastError as error:
                raise issues.BAD_CONVERT_TYPE.error(key=key.text, type=wanted, reason=error.message) from None
        try:
            made = self.host.call_function(invocation.scope, "new", (wanted, value, *rest))
        except PrecastError as error:
            raise issues.NOT_CONVERTED.error(key=key.text, reason=error.message) from None
        if invocation.explainer is not None:
            shown = literal((wanted, *rest))
            invocation.explainer.say(f"Applying convert_to lookup_option with arguments {shown}")
        return made

    # What interpolated texts refer to

    def referred(self, invocation: Invocation, name: str) -> Any:
        """The value of a key that a text names; an empty text if there is none."""
        if name in invocation.overrides:
            return invocation.overrides[name]
        value = self.find(invocation, name, None)
        if value is not MISSING:
            return value
        return invocation.defaults.get(name, "")

    @contextlib.contextmanager
    def checked(self, name: str) -> Iterator[None]:
        """Raises HIERA-036 if the name is being worked on already: it would never end."""
        if name in self._names:
            raise issues.RECURSION.error(names=", ".join(self._names))
        self._names.append(name)
        try:
            yield
        finally:
            self._names.pop()

    # Layers

    def has_environment_data(self) -> bool:
        return self.environment_layer() is not None

    def global_layer(self) -> "Layer | None":
        if "" not in self._layers:
            place = self.host.inputs.ask(Constant("hiera_config"))
            self._layers[""] = None if place is ABSENT else self._layer("global", str(place), "the deployment")
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
        found = self.host.inputs.text(path)
        if found is None:
            return None
        from precast.lang.hiera.config import Config, config  # with YAML, only where there is a file to read
        from precast.lang.hiera.layers import Layer

        judged = config(found[0], found[1], path, kind)
        if isinstance(judged, Config):
            return Layer(self, kind, judged, path.removesuffix(FILE_NAME).rstrip("/"), module)
        if judged == 4 or kind == "global" or self.host.settings.strict == "error":
            raise issues.OLD_VERSION.error(path=path, version=judged)
        self.host.warn_once(f"hiera 3 {path}", issues.OLD_VERSION_IGNORED.error(place=place).message)
        return None

    def file_text(self, path: str) -> str:
        """The text of a file that a function names. Raises HIERA-021 where it lies outside, LANG-442 where there is none."""
        inside = self.host.environment_path(path) if path.startswith("/") else path
        if inside is None:
            raise issues.OUTSIDE.error(path=path, layer="environment")
        found = self.host.inputs.text(inside)
        if found is None:
            raise function_issues.NO_FILE.error(paths=path)
        return found[1]

    def whole_file(self, path: str, reader: str) -> Hash:
        """The entries of a data file that a function names."""
        from precast.lang.hiera.data.files import READERS

        document = READERS[reader](Source(path, self.file_text(path)))
        return document if isinstance(document, Hash) else Hash()

    def source(self, place: "Location", reader: str) -> "DataSource":
        key = (place.path, reader)
        found = self._sources.get(key)
        if found is None:
            from precast.lang.hiera.data.sources import DataSource

            found = self._sources[key] = DataSource(self.host, place, reader)
        return found
