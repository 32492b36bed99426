"""The settings of the server: where it keeps its data, where it listens, which roles it has, and its limits."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

from precast.app.logs import LEVELS
from precast.base import setting_values
from precast.base.confinement.confine import Level
from precast.base.errors import PrecastError
from precast.base.setting_values import InvalidValueError
from precast.base.settings import Area, Setting, Settings


class Address(NamedTuple):
    """A host and port to listen on."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(value: object) -> Address:
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InvalidValueError("HOST:PORT")
    return Address(host.strip("[]"), int(port))


API, COMPILER, SCHEDULER = ROLES = ("api", "compiler", "scheduler")


def read_roles(value: object) -> tuple[str, ...]:
    """Read roles in any order. A flag may be repeated, or list several roles separated by commas."""
    parts = value if isinstance(value, list) else [value]
    words = {word.strip() for part in parts for word in (part.split(",") if isinstance(part, str) else [""])}
    if not words <= set(ROLES):
        raise InvalidValueError(f"some of {', '.join(ROLES)}, separated by commas")
    return tuple(role for role in ROLES if role in words)


def read_level(value: object) -> Level:
    if value not in list(Level):
        raise InvalidValueError(f"one of {', '.join(Level)}")
    return Level(str(value))


def show_database(text: str | None) -> str:
    """The location without its password."""
    from precast.store.engine import location  # commands that run on nodes must not import the store

    if text is None:
        return ""
    try:
        return str(location.parse(text))
    except PrecastError:
        return "(set, but invalid)"


class ServerSettings(Settings, frozen=True):
    """The settings of a server."""

    area: ClassVar[Area] = Area("server", "PRECAST_", lambda _: Path("/etc/precast/server.toml"))

    data: Annotated[Path, Setting("the directory of the authority, and of the database if that is a file", "DIR")] = (
        Path("/var/lib/precast/server")
    )
    database: Annotated[
        str | None,
        Setting(
            "a file, or postgresql://… (default: precast.db in the data directory)",
            "LOCATION",
            read=setting_values.read_text,
            is_secret=True,
            show=show_database,
        ),
    ] = None
    listen: Annotated[Address, Setting("where to listen", "HOST:PORT", read=read_address)] = Address("127.0.0.1", 8140)
    names: Annotated[
        tuple[str, ...], Setting("a name or address by which nodes reach this server", "HOST", flag="--name")
    ] = ()

    signer: Annotated[
        Path | None,
        Setting(
            "the socket of a signer that runs as another user (default: the server starts its own)",
            "FILE",
            read=setting_values.read_path,
        ),
    ] = None

    secrets_key: Annotated[
        Path | None,
        Setting(
            "the file (0600) with the key of secrets, the same on all servers of a site (default: secrets.key in the data directory)",
            "FILE",
            read=setting_values.read_path,
        ),
    ] = None
    secrets_key_command: Annotated[
        str,
        Setting("a command that prints the content of that file, for a key management service", "COMMAND"),
    ] = ""

    requests_per_second: Annotated[
        int,
        Setting(
            "how many requests per second each process accepts from one node, person or address, after a burst",
            "N",
            read=setting_values.within(setting_values.read_number, 1, 1_000_000),
        ),
    ] = 100

    runs_per_minute: Annotated[
        int,
        Setting(
            "how many runs and commands over nodes one person may start per minute at each process, after a burst",
            "N",
            read=setting_values.within(setting_values.read_number, 1, 100_000),
        ),
    ] = 60

    workers: Annotated[
        int,
        Setting(
            "how many processes serve, on one port",
            "N",
            read=setting_values.within(setting_values.read_number, 1, 64),
        ),
    ] = 1

    roles: Annotated[
        tuple[str, ...],
        Setting(
            "the roles of this server; several servers on one PostgreSQL can share the roles",
            "ROLE,…",
            flag="--role",
            read=read_roles,
        ),
    ] = ROLES

    server_name: Annotated[
        str,
        Setting(
            "the value of $servername in manifests, the same on all servers of a site (default: the first --name, or the host's name)",
            "HOST",
        ),
    ] = ""
    compile_limit: Annotated[
        timedelta,
        Setting(
            "how long a compile may take",
            "DURATION",
            read=setting_values.within(setting_values.read_duration, timedelta(seconds=1), timedelta(minutes=10)),
        ),
    ] = timedelta(seconds=60)
    compile_memory: Annotated[
        int,
        Setting(
            "how much memory a compile worker may use",
            "SIZE",
            read=setting_values.within(setting_values.read_size, 128 * 1024**2, 64 * 1024**3),
        ),
    ] = 1024**3

    log_level: Annotated[
        str, Setting(f"how much is logged: {', '.join(LEVELS)}", read=setting_values.one_of(*LEVELS))
    ] = "info"

    confinement: Annotated[
        Level,
        Setting(
            "how processes that handle untrusted code are confined: strict, or best to accept a kernel without Landlock or seccomp",
            "LEVEL",
            read=read_level,
        ),
    ] = Level.STRICT

    keep_traces: Annotated[
        timedelta,
        Setting(
            "how long a trace is kept after a decision has last used it",
            "DURATION",
            read=setting_values.within(setting_values.read_duration, timedelta(days=2), timedelta(days=3650)),
        ),
    ] = timedelta(days=30)
    keep_releases: Annotated[
        int,
        Setting(
            "how many releases of a node are kept, always including the served one and the one before it",
            "N",
            read=setting_values.within(setting_values.read_number, 2, 1_000),
        ),
    ] = 10

    hooks: Annotated[
        Path | None,
        Setting(
            "the webhooks of forges: repository, ref and secret of each environment to deploy",
            "FILE",
            read=setting_values.read_path,
        ),
    ] = None
    secret_sources: Annotated[
        Path | None,
        Setting(
            "the sources of secrets: files and Vaults, and which environments may read which paths of them",
            "FILE",
            read=setting_values.read_path,
        ),
    ] = None
    eyaml_keys: Annotated[
        Path | None,
        Setting(
            "the key pairs of hiera-eyaml, in a directory for each environment (default: eyaml in the data directory)",
            "DIR",
            read=setting_values.read_path,
        ),
    ] = None
    code_directories: Annotated[
        tuple[Path, ...],
        Setting(
            "directories whose git repositories a Puppetfile may name by path (default: none)",
            "DIR",
            flag="--code-directory",
        ),
    ] = ()
    code_hosts: Annotated[
        tuple[str, ...],
        Setting(
            "hosts that a Puppetfile may name although they are this machine, its network segment or metadata of a cloud",
            "HOST",
            flag="--code-host",
        ),
    ] = ()
    enc: Annotated[
        Path | None,
        Setting(
            "an external node classifier, with the protocol of Puppet's",
            "PROGRAM",
            read=setting_values.read_path,
        ),
    ] = None
    enc_every: Annotated[
        timedelta,
        Setting(
            "how long an answer of the external node classifier stays valid",
            "DURATION",
            read=setting_values.within(setting_values.read_duration, timedelta(minutes=1), timedelta(days=365)),
        ),
    ] = timedelta(days=1)
    returners: Annotated[
        Path | None,
        Setting(
            "the returners that reports are sent to: files and webhooks, by name",
            "FILE",
            read=setting_values.read_path,
        ),
    ] = None
    report_retention: Annotated[
        timedelta,
        Setting(
            "how long reports are kept; 0 keeps them for ever",
            "DURATION",
            read=setting_values.within(setting_values.read_duration, timedelta(0), timedelta(days=3650)),
        ),
    ] = timedelta(days=30)

    @property
    def secrets_key_file(self) -> Path:
        """The file with the key of secrets, by default in the data directory."""
        return self.data / "secrets.key" if self.secrets_key is None else self.secrets_key

    @property
    def key_pairs(self) -> Path:
        """The directory of the key pairs of hiera-eyaml."""
        return self.data / "eyaml" if self.eyaml_keys is None else self.eyaml_keys

    @property
    def location(self) -> str:
        """The location of the database, by default a file in the data directory."""
        return str(self.data / "precast.db") if self.database is None else self.database
