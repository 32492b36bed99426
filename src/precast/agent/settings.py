"""The settings of the agent: /etc/precast/agent.toml, PRECAST_AGENT_*, and flags."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar

from precast.base.setting_values import one_of, read_duration, read_number, read_path, read_size, within
from precast.base.settings import Area, Setting, Settings

LEVELS = ("debug", "info", "warning", "error")


class AgentSettings(Settings, frozen=True):
    """Which servers the agent connects to, how much it stores, and how often it works. `--root` is prepended to every path."""

    area: ClassVar[Area] = Area("agent", "PRECAST_AGENT_", lambda _: Path("/etc/precast/agent.toml"))

    url: Annotated[str, Setting("the server, as https://HOST:PORT", "URL", variable="PRECAST_URL")] = ""
    fallbacks: Annotated[
        tuple[str, ...], Setting("further servers, for when the first is unreachable", "URL", flag="--fallback")
    ] = ()
    facts_interval: Annotated[
        timedelta,
        Setting(
            "how often the agent collects and sends facts",
            "TIME",
            read=within(read_duration, timedelta(minutes=1), timedelta(days=7)),
        ),
    ] = timedelta(minutes=30)
    splay: Annotated[
        timedelta,
        Setting(
            "recurring work is delayed by at most this time, which the node's name chooses",
            "TIME",
            read=within(read_duration, timedelta(0), timedelta(days=1)),
        ),
    ] = timedelta(minutes=30)
    fetch_interval: Annotated[
        timedelta,
        Setting(
            "how often the agent asks for a new catalog, in case no server has announced one",
            "TIME",
            read=within(read_duration, timedelta(minutes=1), timedelta(days=7)),
        ),
    ] = timedelta(minutes=30)
    apply_interval: Annotated[
        timedelta,
        Setting(
            "how often the agent applies the cached catalog; 0 to apply it only when it is new or a run is ordered",
            "TIME",
            read=within(read_duration, timedelta(0), timedelta(days=30)),
        ),
    ] = timedelta(minutes=30)
    keep_secrets: Annotated[
        timedelta,
        Setting(
            "how long runs use the secrets of a catalog that no server has confirmed; at least twice fetch_interval",
            "TIME",
            read=within(read_duration, timedelta(minutes=1), timedelta(days=3650)),
        ),
    ] = timedelta(days=30)
    noop: Annotated[
        bool, Setting("runs are no-op, unless a person on the node starts one with --enforce", flag="-")
    ] = False
    allow_exec: Annotated[
        bool, Setting("the agent runs commands that are ordered through a server, with its own privileges", flag="-")
    ] = False
    reboot_command: Annotated[
        tuple[str, ...],
        Setting(
            "the command that reboots this machine when a server orders it; by default systemctl or shutdown",
            "WORD",
            flag="-",
        ),
    ] = ()
    network_user: Annotated[
        str,
        Setting(
            "the unprivileged user of the process that talks to servers; nobody if precast-agent does not exist",
            "USER",
        ),
    ] = "precast-agent"
    facts_d: Annotated[
        tuple[Path, ...], Setting("read external facts from here, not from the usual directories", "DIR")
    ] = ()
    plugins: Annotated[
        tuple[Path, ...], Setting("read Python facts from here, not from the usual directory", "DIR")
    ] = ()
    spool_bytes: Annotated[
        int,
        Setting(
            "how many bytes of records the agent stores while no server is reachable",
            "SIZE",
            read=within(read_size, 1_000_000, 100_000_000_000),
        ),
    ] = 64 * 1024**2
    spool_records: Annotated[
        int,
        Setting(
            "how many records the agent stores while no server is reachable",
            "N",
            read=within(read_number, 100, 100_000_000),
        ),
    ] = 10_000
    ack_horizon: Annotated[
        timedelta,
        Setting(
            "how long the agent keeps acknowledged records at least, for a server that loses them",
            "TIME",
            read=within(read_duration, timedelta(0), timedelta(days=30)),
        ),
    ] = timedelta(hours=1)
    log_level: Annotated[str, Setting(f"how much is logged: {', '.join(LEVELS)}", read=one_of(*LEVELS))] = "info"
    log_file: Annotated[Path | None, Setting("log to this file, not to standard error", "FILE", read=read_path)] = None

    @property
    def urls(self) -> tuple[str, ...]:
        """All servers, the first to try first."""
        return tuple(dict.fromkeys(url for url in (self.url, *self.fallbacks) if url))
