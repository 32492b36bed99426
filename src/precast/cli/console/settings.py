"""The settings of the command-line client, and how a command takes settings from its flags, the environment and a file."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from precast.base.home import expand, home_directory
from precast.base.settings import Area, DeclaredSetting, LoadedSettings, Setting, Settings, declared, load

S = TypeVar("S", bound=Settings)


def _client_file(environment: Mapping[str, str]) -> Path:
    given = expand(environment.get("XDG_CONFIG_HOME") or "~/.config")
    # The XDG specification says that a relative path is invalid and must be ignored.
    base = given if given.is_absolute() else expand("~/.config")
    return base / "precast" / "client.toml"


class ClientSettings(Settings, frozen=True):
    """The server's address, the authority to trust, and the token of the person who calls."""

    area: ClassVar[Area] = Area("client", "PRECAST_", _client_file, closed_to=0o077)

    url: Annotated[str, Setting("the server's address, as https://HOST:PORT", "URL")] = ""
    ca: Annotated[str, Setting("the file of the authority's certificate", "FILE")] = ""
    token: Annotated[str, Setting("your token", "TOKEN", flag="-", is_secret=True)] = ""


def add_settings(parser: argparse.ArgumentParser, cls: type[Settings], *names: str) -> None:
    """Add the flags of the settings in `cls`, all of them or the named ones, and `--config` for the settings file."""
    for setting in declared(cls):
        if setting.flag and (setting.name in names or not names):
            _add_flag(parser, setting)
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        default=argparse.SUPPRESS,
        help=f"the settings file (default: {_default_file(cls)}, which may be missing)",
    )


def load_settings(cls: type[S], args: argparse.Namespace) -> LoadedSettings[S]:
    """Load the settings from flags, environment and file, in this order of precedence. Raises what `settings.load` raises."""
    return load(
        cls,
        vars(args),
        os.environ,
        file=getattr(args, "config", None),
        root=getattr(args, "root", Path("/")).absolute(),
    )


def _add_flag(parser: argparse.ArgumentParser, declared_setting: DeclaredSetting) -> None:
    setting = declared_setting.setting
    shown = setting.show(declared_setting.default)
    default = f" (default: {shown})" if shown else ""
    repeats = "; may be repeated" if declared_setting.is_list else ""
    # SUPPRESS leaves an absent flag out of the namespace: a sub-command's default does not undo a flag before the sub-command.
    options: dict[str, Any] = {"default": argparse.SUPPRESS}
    if declared_setting.is_list:
        options["action"] = "append"
    parser.add_argument(
        declared_setting.flag,
        dest=declared_setting.name,
        metavar=setting.metavar or None,
        help=f"{setting.meaning}{repeats}{default}",
        **options,
    )


def _default_file(cls: type[Settings]) -> str:
    home, path = home_directory(), cls.area.place({})
    # Everything is below the root directory, which is no home to abbreviate.
    is_abbreviated = home != Path("/") and path.is_relative_to(home)
    return f"~/{path.relative_to(home)}" if is_abbreviated else str(path)
