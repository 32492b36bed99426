"""hiera.yaml of version 5: the levels of a layer, where their data is, and which function provides it.

A file is checked once per content. The rules are Puppet's; an error points at the place in the file.
"""

import re
from typing import Any, Final, Literal, NamedTuple

from precast.base.errors import Issue, PrecastError
from precast.base.spans import Source, Span
from precast.lang.datatypes import mismatch, parse_type
from precast.lang.hiera import issues
from precast.lang.hiera.data.documents import read_yaml
from precast.lang.values.base import Hash

FunctionKind = Literal["data_hash", "lookup_key", "data_dig"]
LocationKind = Literal["path", "glob", "uri", "mapped", "none"]
LayerKind = Literal["global", "environment", "module"]

_FUNCTIONS: Final = ("data_hash", "lookup_key", "data_dig", "hiera3_backend")
_LOCATIONS: Final[dict[str, LocationKind]] = {
    "path": "path", "paths": "path", "glob": "glob", "globs": "glob", "uri": "uri", "uris": "uri", "mapped_paths": "mapped",
}  # fmt: skip
# Functions of a level whose data is in a secret source of the server.
SECRETS: Final = "precast::secrets"
VAULT: Final = "hiera_vault"
_RESERVED: Final = ("path", "uri")
_OPTIONS: Final = r"Hash[Pattern[/\A[A-Za-z](:?[0-9A-Za-z_-]*[0-9A-Za-z])?\z/], Data]"
_FUNCTION_FIELDS: Final = (
    "Optional[data_hash]=>String[1], Optional[lookup_key]=>String[1], Optional[data_dig]=>String[1]"
)
_LEVELS: Final = (
    f"Array[Struct[{{name=>String[1], Optional[options]=>{_OPTIONS}, {_FUNCTION_FIELDS}, Optional[hiera3_backend]=>String[1], "
    "Optional[path]=>String[1], Optional[paths]=>Array[String[1],1], Optional[glob]=>String[1], Optional[globs]=>Array[String[1],1], "
    "Optional[uri]=>String[1], Optional[uris]=>Array[String[1],1], Optional[mapped_paths]=>Array[String[1],3,3], "
    "Optional[datadir]=>String[1]}]]"
)
_CONFIG: Final = parse_type(
    f"Struct[{{version=>Integer[5,5], Optional[defaults]=>Struct[{{{_FUNCTION_FIELDS}, Optional[datadir]=>String[1], "
    f"Optional[options]=>{_OPTIONS}}}], Optional[hierarchy]=>{_LEVELS}, Optional[plan_hierarchy]=>{_LEVELS}, "
    f"Optional[default_hierarchy]=>{_LEVELS}}}]"
)
_DEFAULTS: Final = Hash.of((("datadir", "data"), ("data_hash", "yaml_data")))
_COMMON: Final = (Hash.of((("name", "Common"), ("path", "common.yaml"))),)


class Level(NamedTuple):
    """One level of a hierarchy; locations, datadir and options may still contain `%{…}`."""

    name: str
    kind: FunctionKind
    function: str
    datadir: str
    location_kind: LocationKind
    locations: tuple[str, ...]
    options: Hash

    @property
    def is_secret(self) -> bool:
        """Whether the data is in a secret source of the server: the locations are paths there."""
        return self.kind == "lookup_key" and self.function in (SECRETS, VAULT)


class Config(NamedTuple):
    """A checked hiera.yaml. `defaults` are the levels of `default_hierarchy`, used if nothing else has a key; None if absent."""

    path: str
    levels: tuple[Level, ...]
    defaults: tuple[Level, ...] | None


# Checked files, or their errors, by content, name and layer.
_configs: dict[tuple[str, str, str], Config | int | PrecastError] = {}
_MAX_CONFIGS = 5_000


def read_config(digest: str, text: str, path: str, layer: LayerKind) -> Config | int:
    """Check a hiera.yaml; the result is 3 or 4 if it has that version. Raises HIERA-001 to HIERA-020."""
    key = (digest, path, layer)
    result = _configs.get(key)
    if result is None:
        if len(_configs) >= _MAX_CONFIGS:
            _configs.clear()
        try:
            result = _check(Source(path, text.removeprefix("\ufeff")), layer)
        except PrecastError as error:
            result = error
        _configs[key] = result
    if isinstance(result, PrecastError):
        raise result.copy()
    return result


def _check(source: Source, layer: LayerKind) -> Config | int:
    given = read_yaml(source)
    if not isinstance(given, Hash):
        if layer == "global":
            raise issues.BAD_CONFIG.error(
                source, _at(source, ""), reason="the file does not contain a hash, so it has no version and no levels"
            )
        return 3
    version = given.get("version", 3)
    number = version if isinstance(version, int) else _leading_number(version)
    if number in (3, 4):
        return int(number)
    if number != 5:
        raise issues.BAD_VERSION.error(source, _at(source, r"\bversion\b"), version=version)
    return _Checker(source, layer, given).config()


def _leading_number(version: Any) -> int:
    digits = ""
    for char in str(version).strip():
        if not char.isdigit():
            break
        digits += char
    return int(digits[:9] or 0)


class _Checker:
    """Checks one file against the rules of version 5."""

    def __init__(self, source: Source, layer: LayerKind, given: Hash) -> None:
        self._source = source
        self._layer = layer
        self._given = Hash.of(
            (key, value)
            for key, value in given.items()
            if not (key in ("defaults", "hierarchy") and value in (None, False))
        )
        self._defaults: Hash = _DEFAULTS

    def config(self) -> Config:
        if not _CONFIG.check(self._given):
            reason = mismatch.describe("The Lookup Configuration", _CONFIG, self._given)
            names = re.findall(r"(?:entry|key) '(\w+)'", reason)
            raise self._error(issues.BAD_CONFIG, rf"\b{names[-1]}\b" if names else "", reason=reason)
        self._defaults = self._given.get("defaults", _DEFAULTS)
        self._check_defaults()
        if "default_hierarchy" in self._given and self._layer != "module":
            raise self._error(issues.DEFAULT_HIERARCHY, "default_hierarchy")
        levels = self._levels(self._given.get("hierarchy", _COMMON))
        self._levels(self._given.get("plan_hierarchy", ()))
        defaults = self._levels(self._given["default_hierarchy"]) if "default_hierarchy" in self._given else None
        return Config(self._source.path, levels, defaults)

    def _error(self, issue: Issue, pattern: str, **fields: object) -> PrecastError:
        return issue.error(self._source, _at(self._source, pattern), **fields)

    def _check_defaults(self) -> None:
        if sum(name in self._defaults for name in _FUNCTIONS) > 1:
            raise self._error(issues.MANY_FUNCTIONS, "defaults", where="the defaults")
        self._check_options(self._defaults, "the defaults")

    def _levels(self, given: tuple[Hash, ...]) -> tuple[Level, ...]:
        levels: dict[str, Level] = {}
        for entry in given:
            level = self._level(entry)
            if level.name in levels:
                raise self._error(issues.NAME_TWICE, _level_named(level.name), name=level.name)
            levels[level.name] = level
        return tuple(levels.values())

    def _level(self, given: Hash) -> Level:
        name = given["name"]
        named = [function for function in _FUNCTIONS if function in given]
        if len(named) > 1:
            raise self._error(issues.MANY_FUNCTIONS, _level_named(name), where=f"the level '{name}'")
        if "hiera3_backend" in given:
            raise self._error(issues.HIERA3_BACKEND, _level_named(name), name=name, backend=given["hiera3_backend"])
        declaring = given if named else self._defaults
        kind = next((function for function in _FUNCTIONS if function in declaring), None)
        if kind is None:
            raise self._error(issues.NO_FUNCTION_NAMED, _level_named(name), name=name)
        where = [location for location in _LOCATIONS if location in given]
        if len(where) > 1:
            raise self._error(issues.MANY_LOCATIONS, _level_named(name), name=name)
        self._check_options(given, f"the level '{name}'")
        locations = given[where[0]] if where else ()
        return Level(
            name,
            kind,  # type: ignore[arg-type] # hiera3_backend is refused above
            declaring[kind],
            given.get("datadir") or self._defaults.get("datadir", "data"),
            _LOCATIONS[where[0]] if where else "none",
            (locations,) if isinstance(locations, str) else locations,
            given.get("options") or self._defaults.get("options") or Hash(),
        )

    def _check_options(self, given: Hash, where: str) -> None:
        for name in _RESERVED:
            if name in (given.get("options") or ()):
                raise self._error(issues.RESERVED_OPTION, rf"options:\s*\{{?.*\b{name}\b", name=name, where=where)


def _level_named(name: str) -> str:
    return rf"""name:\s*['"]?{re.escape(name)}"""


def _at(source: Source, pattern: str) -> Span:
    """The last match of a pattern in the text: of two equal names, the second is the wrong one."""
    matches = list(re.finditer(pattern, source.text)) if pattern else []
    return Span(*matches[-1].span()) if matches else Span(0, 0)
