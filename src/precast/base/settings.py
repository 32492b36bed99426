"""Settings of a program: declared once as a Struct, given by flag, environment, file or default, in this order.

A declaration is a frozen Struct whose fields carry a `Setting`. The name of a field is the key in the TOML file. A key in the file that is
not declared is an error, because a misspelt setting that is silently ignored is noticed too late. An undeclared variable is not an
error: other programs may use our prefix (Kubernetes sets PRECAST_PORT for a service called precast).
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
    """The properties of a setting besides its name, type and default."""

    meaning: str
    metavar: str = ""
    flag: str = ""  # default: the name with hyphens; "-" for none
    variable: str = ""  # default: the area's prefix and the name
    read: Callable[[object], Any] | None = None  # default: by the type
    is_secret: bool = False
    show: Callable[[Any], str] = setting_values.show


class DeclaredSetting(NamedTuple):
    """One setting of an area, with all defaults filled in."""

    name: str
    flag: str
    variable: str
    default: Any
    is_list: bool
    read: Callable[[object], Any]
    setting: Setting


class Area(NamedTuple):
    """A group of settings of one program: its name, the prefix of its variables, and the path of its file."""

    name: str
    prefix: str
    place: Callable[[Mapping[str, str]], Path]  # the usual file, by the environment
    # Mode bits that a file with a secret must not have.
    closed_to: int = 0o007


class Settings(msgspec.Struct, frozen=True):
    """The base class of a declaration. Every field is `Annotated` with its `Setting`, and has a default."""

    area: ClassVar[Area]


S = TypeVar("S", bound=Settings)


class SettingValue(NamedTuple):
    """The value of a setting and its origin: a flag, a variable, or a line of the file."""

    value: Any
    origin: str


class LoadedSettings(NamedTuple, Generic[S]):
    """The values of all settings, and the origin of each."""

    values: S
    origins: dict[str, str]

    def rows(self) -> list[tuple[str, str, str]]:
        """Name, value and origin of each setting, for display: the value of a secret is hidden."""
        return [
            (setting.name, _show(setting.setting, getattr(self.values, setting.name)), self.origins[setting.name])
            for setting in declared(type(self.values))
        ]


def declared(cls: type[Settings]) -> list[DeclaredSetting]:
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
) -> LoadedSettings[S]:
    """The settings of an area. A file that the caller names must exist; the default file need not.

    Raises NotFoundError CONFIG-001, DeniedError CONFIG-002 and CONFIG-006, InputError CONFIG-003 to CONFIG-005.
    """
    area = cls.area
    place = file if file is not None else root / area.place(environment).relative_to("/")
    content = _File.read(place, area, is_needed=file is not None)
    content.refuse_writable()
    known = declared(cls)
    content.refuse_unknown([setting.name for setting in known])
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in known:
        given = _flag(setting, flags) or _variable(setting, environment) or content.value(setting)
        values[setting.name], origins[setting.name] = given or SettingValue(setting.default, "default")
    content.refuse_open([setting for setting in known if setting.setting.is_secret], area)
    return LoadedSettings(cls(**values), origins)


def unknown_variables(classes: Iterable[type[Settings]], environment: Mapping[str, str], known: set[str]) -> list[str]:
    """The variables with our prefix that are no setting, as sentences that suggest the most similar setting."""
    names = known | {setting.variable for cls in classes for setting in declared(cls)}
    unknown = sorted(name for name in environment if name.startswith("PRECAST_") and name not in names)
    return [f"{name} is not a setting{_guess(name, names)}" for name in unknown]


class _File:
    """A TOML file: its keys and their positions."""

    def __init__(self, path: Path, text: str, mode: int, keys: dict[str, Any]) -> None:
        # Errors show the line without its value, which may be a secret under a misspelt name.
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

    def refuse_writable(self) -> None:
        """Raise DeniedError CONFIG-006 if other users may change the file: its settings decide what a process of root does."""
        if self._mode & (0o022 if os.geteuid() == 0 else 0o002):
            raise issues.WRITABLE_CONFIGURATION.error(path=self._source.path)

    def refuse_open(self, secrets: list[DeclaredSetting], area: Area) -> None:
        """Raise DeniedError CONFIG-002 if other users may read a file with a secret."""
        secret_keys = [setting.name for setting in secrets if setting.name in self._keys]
        if secret_keys and self._mode & area.closed_to:
            mode = "600" if area.closed_to & 0o070 else "640"
            raise issues.OPEN_CONFIGURATION.error(path=self._source.path, name=secret_keys[0], mode=mode)

    def value(self, setting: DeclaredSetting) -> SettingValue | None:
        if setting.name not in self._keys:
            return None
        span = self._span(setting.name)
        line = self._source.position(span.start).line
        return SettingValue(
            _read(setting, self._keys[setting.name], (self._source, span)), f"{self._source.path}:{line}"
        )

    def _span(self, key: str) -> Span:
        """The position of a key, which the TOML library does not report. It also finds tables and quoted keys."""
        name = re.escape(key)
        match = re.search(rf"^[ \t]*(?:\[\[?[ \t]*)?[\"']?({name})[\"']?[ \t]*[=.\]]", self._source.text, re.MULTILINE)
        return Span(*match.span(1)) if match else Span(0, 1)


def _declare(area: Area, field: msgspec.structs.FieldInfo, hint: Any) -> DeclaredSetting:
    kind, setting = typing.get_args(hint)[0], hint.__metadata__[0]
    return DeclaredSetting(
        name=field.name,
        flag="" if setting.flag == "-" else setting.flag or f"--{field.name.replace('_', '-')}",
        variable=setting.variable or f"{area.prefix}{field.name.upper()}",
        default=field.default,
        is_list=typing.get_origin(kind) is tuple,
        read=setting.read or setting_values.reader(kind),
        setting=setting,
    )


def _flag(setting: DeclaredSetting, flags: Mapping[str, object]) -> SettingValue | None:
    value = flags.get(setting.name) if setting.flag else None
    return None if value is None else SettingValue(_read(setting, value, setting.flag), setting.flag)


def _variable(setting: DeclaredSetting, environment: Mapping[str, str]) -> SettingValue | None:
    """An empty variable counts as not set, so that a shell can unset it for a single command."""
    value = environment.get(setting.variable)
    return SettingValue(_read(setting, value, setting.variable), setting.variable) if value else None


def _read(setting: DeclaredSetting, value: object, where: str | tuple[Source, Span]) -> Any:
    try:
        return setting.read(value)
    except setting_values.InvalidValueError as expected:
        shown = "the given value" if setting.setting.is_secret else repr(value)
        if isinstance(where, str):
            raise issues.BAD_SETTING.error(name=where, value=shown, wanted=expected) from None
        raise issues.BAD_SETTING.error(*where, name=setting.name, value=shown, wanted=expected) from None


def _show(setting: Setting, value: Any) -> str:
    if setting.is_secret and setting.show is setting_values.show:
        return "(set, not shown)" if value else ""
    return setting.show(value)


def _guess(name: str, names: "list[str] | set[str]") -> str:
    near = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    return f"; did you mean {near[0]}?" if near else ""
