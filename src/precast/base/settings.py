"""Settings of a program: declared once as a Struct, given by flag, environment, file or default, in this order.

A declaration is a frozen Struct whose fields carry a `Setting`. The name of a field is the key in the TOML file. A key that is
not declared is an error: a misspelt setting that is passed over in silence is found when it is missed. A variable that is not
declared is none: other programs may use our prefix (Kubernetes makes PRECAST_PORT for a service called precast).
"""

import difflib
import os
import re
import tomllib
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from precast.base import issues, setting_values
from precast.base.spans import Source, Span

MAX_FILE_BYTES = 1024 * 1024


class Setting(NamedTuple):
    """What is known about a setting besides its name, type and default."""

    meaning: str
    metavar: str = ""
    flag: str = ""  # default: the name with hyphens; "-" for none
    variable: str = ""  # default: the area's prefix and the name
    read: Callable[[object], Any] | None = None  # default: by the type
    is_secret: bool = False
    show: Callable[[Any], str] = setting_values.show


class Declared(NamedTuple):
    """One setting of an area, with everything filled in."""

    name: str
    flag: str
    variable: str
    default: Any
    is_list: bool
    read: Callable[[object], Any]
    setting: Setting


class Area(NamedTuple):
    """A program's settings: what it is called, where its file lies, how its variables begin."""

    name: str
    prefix: str
    place: Callable[[Mapping[str, str]], Path]  # the usual file, by the environment
    # Bits that a file which holds a secret must not have.
    closed_to: int = 0o007


class Settings(msgspec.Struct, frozen=True):
    """What a declaration derives from. Every field is `Annotated` with its `Setting`, and has a default."""

    area: ClassVar[Area]


S = TypeVar("S", bound=Settings)


class Given(NamedTuple):
    """A value and where it came from."""

    value: Any
    origin: str


class Loaded(NamedTuple, Generic[S]):
    """The settings, and for each where it came from."""

    values: S
    origins: dict[str, str]

    def rows(self) -> list[tuple[str, str, str]]:
        """Name, value and origin as people may see them: a secret is not shown."""
        return [
            (one.name, _shown(one.setting, getattr(self.values, one.name)), self.origins[one.name])
            for one in declared(type(self.values))
        ]


def declared(cls: type[Settings]) -> list[Declared]:
    """Every setting of a declaration, in its order."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return [_declare(cls.area, field, hints[field.name]) for field in msgspec.structs.fields(cls)]


def load(
    cls: type[S],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    *,
    file: Path | None = None,
    root: Path = Path("/"),
) -> Loaded[S]:
    """The settings of an area. A file that is named must exist; the usual one need not.

    Raises NotFoundError CONFIG-001, DeniedError CONFIG-002, InputError CONFIG-003 to CONFIG-005.
    """
    area = cls.area
    place = file if file is not None else root / area.place(environment).relative_to("/")
    content = _File.read(place, area, is_needed=file is not None)
    known = declared(cls)
    content.refuse_unknown([one.name for one in known])
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for one in known:
        given = _flag(one, flags) or _variable(one, environment) or content.value(one)
        values[one.name], origins[one.name] = given or Given(one.default, "default")
    content.refuse_open([one for one in known if one.setting.is_secret], area)
    return Loaded(cls(**values), origins)


def unknown_variables(classes: Iterable[type[Settings]], environment: Mapping[str, str], known: set[str]) -> list[str]:
    """What looks like a setting in the environment and is none, each with the nearest that is one."""
    names = known | {one.variable for cls in classes for one in declared(cls)}
    strange = sorted(name for name in environment if name.startswith("PRECAST_") and name not in names)
    return [f"{name} is no setting{_guess(name, names)}" for name in strange]


class _File:
    """A TOML file: its keys, and where they stand."""

    def __init__(self, path: Path, text: str, mode: int, keys: dict[str, Any]) -> None:
        # Errors show the line: without its value, which may be a secret under a misspelt name.
        self._source = Source(str(path), re.sub(r"=.*", "= …", text))
        self._mode = mode
        self._keys = keys

    @classmethod
    def read(cls, path: Path, area: Area, *, is_needed: bool) -> "_File":
        try:
            with path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                data = file.read(MAX_FILE_BYTES + 1)
        except FileNotFoundError as error:
            if is_needed:
                raise issues.NO_CONFIGURATION.error(path=path, reason=error.strerror, area=area.name) from None
            return cls(path, "", 0, {})
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise issues.NO_CONFIGURATION.error(path=path, reason=reason, area=area.name) from None
        if len(data) > MAX_FILE_BYTES:
            raise issues.NO_CONFIGURATION.error(path=path, reason="it is too large", area=area.name)
        try:
            text = data.decode()
            return cls(path, text, mode, tomllib.loads(text))
        except UnicodeDecodeError:
            raise issues.NO_CONFIGURATION.error(path=path, reason="it is not UTF-8", area=area.name) from None
        except tomllib.TOMLDecodeError as error:
            raise issues.BAD_TOML.error(Source(str(path), ""), reason=error) from None

    def refuse_unknown(self, names: list[str]) -> None:
        for key in self._keys:
            if key not in names:
                raise issues.UNKNOWN_SETTING.error(
                    self._source, self._span(key), name=key, guess=_guess(key, names), names=", ".join(names)
                )

    def refuse_open(self, secrets: list[Declared], area: Area) -> None:
        """Raise if others may read a file that holds a secret."""
        held = [one.name for one in secrets if one.name in self._keys]
        if held and self._mode & area.closed_to:
            mode = "600" if area.closed_to & 0o070 else "640"
            raise issues.OPEN_CONFIGURATION.error(path=self._source.path, name=held[0], mode=mode)

    def value(self, one: Declared) -> Given | None:
        if one.name not in self._keys:
            return None
        span = self._span(one.name)
        line = self._source.position(span.start).line
        return Given(_read(one, self._keys[one.name], (self._source, span)), f"{self._source.path}:{line}")

    def _span(self, key: str) -> Span:
        """Where a key stands: the library does not say. A table, or a key in quotes, is found too."""
        name = re.escape(key)
        found = re.search(rf"^[ \t]*(?:\[\[?[ \t]*)?[\"']?({name})[\"']?[ \t]*[=.\]]", self._source.text, re.MULTILINE)
        return Span(*found.span(1)) if found else Span(0, 1)


def _declare(area: Area, field: msgspec.structs.FieldInfo, hint: Any) -> Declared:
    kind, setting = typing.get_args(hint)[0], hint.__metadata__[0]
    return Declared(
        name=field.name,
        flag="" if setting.flag == "-" else setting.flag or f"--{field.name.replace('_', '-')}",
        variable=setting.variable or f"{area.prefix}{field.name.upper()}",
        default=field.default,
        is_list=typing.get_origin(kind) is tuple,
        read=setting.read or setting_values.reader(kind),
        setting=setting,
    )


def _flag(one: Declared, flags: Mapping[str, object]) -> Given | None:
    value = flags.get(one.name) if one.flag else None
    return None if value is None else Given(_read(one, value, one.flag), one.flag)


def _variable(one: Declared, environment: Mapping[str, str]) -> Given | None:
    """An empty variable is one that is not set: that is how a shell takes one away for a single command."""
    value = environment.get(one.variable)
    return Given(_read(one, value, one.variable), one.variable) if value else None


def _read(one: Declared, value: object, where: str | tuple[Source, Span]) -> Any:
    try:
        return one.read(value)
    except setting_values.Unfit as unfit:
        shown = "what is given" if one.setting.is_secret else repr(value)
        if isinstance(where, str):
            raise issues.BAD_SETTING.error(name=where, value=shown, wanted=unfit) from None
        raise issues.BAD_SETTING.error(*where, name=one.name, value=shown, wanted=unfit) from None


def _shown(setting: Setting, value: Any) -> str:
    if setting.is_secret and setting.show is setting_values.show:
        return "(set, not shown)" if value else ""
    return setting.show(value)


def _guess(name: str, names: "list[str] | set[str]") -> str:
    near = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    return f"; did you mean {near[0]}?" if near else ""
