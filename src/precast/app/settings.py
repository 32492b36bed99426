"""The settings of the server and of its clients, and how a command takes settings from its flags."""

import argparse
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

from precast.base import setting_values
from precast.base.errors import PrecastError
from precast.base.setting_values import Unfit
from precast.base.settings import Area, Declared, Loaded, Setting, Settings, declared, load

S = TypeVar("S", bound=Settings)


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(value: object) -> Address:
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise Unfit("HOST:PORT")
    return Address(host.strip("[]"), int(port))


API, COMPILER, SCHEDULER = ROLES = ("api", "compiler", "scheduler")


def read_roles(value: object) -> tuple[str, ...]:
    """Some of the roles, in any order; a flag may be repeated, or name several with commas between them."""
    parts = value if isinstance(value, list) else [value]
    words = {word.strip() for part in parts for word in (part.split(",") if isinstance(part, str) else [""])}
    if not words <= set(ROLES):
        raise Unfit(f"some of {', '.join(ROLES)}, with commas between them")
    return tuple(role for role in ROLES if role in words)


def show_database(text: str | None) -> str:
    """A location without any password."""
    from precast.store.engine import location  # a node has no use for the store, and its daemon stays small

    if text is None:
        return ""
    try:
        return str(location.parse(text))
    except PrecastError:
        return "(set, not usable)"


class ServerSettings(Settings, frozen=True):
    """Where a server lives and listens."""

    area: ClassVar[Area] = Area("server", "PRECAST_", lambda _: Path("/etc/precast/server.toml"))

    data: Annotated[Path, Setting("the authority, and the database if that is a file", "DIR")] = Path(
        "/var/lib/precast/server"
    )
    database: Annotated[
        str | None,
        Setting(
            "a file, or postgresql://… (default: precast.db in the data directory)",
            "LOCATION",
            read=setting_values.text,
            is_secret=True,
            show=show_database,
        ),
    ] = None
    listen: Annotated[Address, Setting("where to listen", "HOST:PORT", read=read_address)] = Address("127.0.0.1", 8140)
    names: Annotated[
        tuple[str, ...], Setting("a name or address nodes reach this server by", "HOST", flag="--name")
    ] = ()

    requests_per_second: Annotated[
        int,
        Setting(
            "how often each node, person or address may ask a process of this server, after a burst",
            "N",
            read=setting_values.within(setting_values.number, 1, 1_000_000),
        ),
    ] = 100

    runs_per_minute: Annotated[
        int,
        Setting(
            "how many runs and commands over nodes each person may begin at a process of this server, after a burst",
            "N",
            read=setting_values.within(setting_values.number, 1, 100_000),
        ),
    ] = 60

    workers: Annotated[
        int,
        Setting(
            "how many processes serve, on one port",
            "N",
            read=setting_values.within(setting_values.number, 1, 64),
        ),
    ] = 1

    roles: Annotated[
        tuple[str, ...],
        Setting(
            "what this server does; several servers on one PostgreSQL may share the roles",
            "ROLE,…",
            flag="--role",
            read=read_roles,
        ),
    ] = ROLES

    server_name: Annotated[
        str,
        Setting(
            "what manifests see as $servername, the same on all servers of a site (default: the first --name, else the host's)",
            "HOST",
        ),
    ] = ""
    compile_limit: Annotated[
        timedelta,
        Setting(
            "how long a compile may take",
            "DURATION",
            read=setting_values.within(setting_values.duration, timedelta(seconds=1), timedelta(minutes=10)),
        ),
    ] = timedelta(seconds=60)
    compile_memory: Annotated[
        int,
        Setting(
            "how much memory a compile worker may use",
            "SIZE",
            read=setting_values.within(setting_values.size, 128 * 1024**2, 64 * 1024**3),
        ),
    ] = 1024**3

    keep_traces: Annotated[
        timedelta,
        Setting(
            "how long a trace that no node's decision has used is remembered",
            "DURATION",
            read=setting_values.within(setting_values.duration, timedelta(days=2), timedelta(days=3650)),
        ),
    ] = timedelta(days=30)
    keep_releases: Annotated[
        int,
        Setting(
            "how many releases of a node are kept; the served one and the one before it always are",
            "N",
            read=setting_values.within(setting_values.number, 2, 1_000),
        ),
    ] = 10

    hooks: Annotated[
        Path | None,
        Setting(
            "what is deployed when a forge calls: repository, ref and secret by environment",
            "FILE",
            read=setting_values.path,
        ),
    ] = None
    enc: Annotated[
        Path | None,
        Setting(
            "a program that says what nodes are, as Puppet's external node classifiers do",
            "PROGRAM",
            read=setting_values.path,
        ),
    ] = None
    enc_every: Annotated[
        timedelta,
        Setting(
            "how old an answer of that program may become",
            "DURATION",
            read=setting_values.within(setting_values.duration, timedelta(minutes=1), timedelta(days=365)),
        ),
    ] = timedelta(days=1)
    returners: Annotated[
        Path | None,
        Setting(
            "where reports are told to others: files and webhooks by name",
            "FILE",
            read=setting_values.path,
        ),
    ] = None
    report_retention: Annotated[
        timedelta,
        Setting(
            "how long reports of runs are kept; 0 for ever",
            "DURATION",
            read=setting_values.within(setting_values.duration, timedelta(0), timedelta(days=3650)),
        ),
    ] = timedelta(days=30)

    @property
    def location(self) -> str:
        """The database, also if only the directory is given."""
        return str(self.data / "precast.db") if self.database is None else self.database


def _client_file(environment: Mapping[str, str]) -> Path:
    given = Path(environment.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    # A relative one is invalid, says the specification, and to be ignored.
    base = given if given.is_absolute() else Path("~/.config").expanduser()
    return base / "precast" / "client.toml"


class ClientSettings(Settings, frozen=True):
    """Where the server is, whom to trust, and who we are."""

    area: ClassVar[Area] = Area("client", "PRECAST_", _client_file, closed_to=0o077)

    url: Annotated[str, Setting("the server, as https://HOST:PORT", "URL")] = ""
    ca: Annotated[str, Setting("the authority's certificate", "FILE")] = ""
    token: Annotated[str, Setting("your token", "TOKEN", flag="-", is_secret=True)] = ""


def add_settings(parser: argparse.ArgumentParser, cls: type[Settings], *names: str) -> None:
    """Flags for settings of an area, all or those named, and one for its file."""
    for one in declared(cls):
        if one.flag and (one.name in names or not names):
            _add_flag(parser, one)
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        default=argparse.SUPPRESS,
        help=f"settings (default: {_usual(cls)}, which may be missing)",
    )


def load_settings(cls: type[S], args: argparse.Namespace) -> Loaded[S]:
    """The settings by flags, environment and file. Raises what `settings.load` raises."""
    return load(
        cls,
        vars(args),
        os.environ,
        file=getattr(args, "config", None),
        root=getattr(args, "root", Path("/")).absolute(),
    )


def _add_flag(parser: argparse.ArgumentParser, one: Declared) -> None:
    shown = one.setting.show(one.default)
    default = f" (default: {shown})" if shown else ""
    again = "; may be repeated" if one.is_list else ""
    # What is not given leaves no trace: so a flag before a sub-command is not undone by the sub-command's.
    options: dict[str, Any] = {"default": argparse.SUPPRESS, **({"action": "append"} if one.is_list else {})}
    parser.add_argument(
        one.flag,
        dest=one.name,
        metavar=one.setting.metavar or None,
        help=f"{one.setting.meaning}{again}{default}",
        **options,
    )


def _usual(cls: type[Settings]) -> str:
    home = str(Path.home())
    place = str(cls.area.place({}))
    return "~" + place.removeprefix(home) if place.startswith(home) else place
