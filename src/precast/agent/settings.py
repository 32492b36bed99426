"""The settings of the agent: /etc/precast/agent.toml, PRECAST_AGENT_*, flags."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar

from precast.base import setting_values as values
from precast.base.settings import Area, Setting, Settings

LEVELS = ("debug", "info", "warning", "error")


class AgentSettings(Settings, frozen=True):
    """Where the agent finds its server, what it keeps, and how often it speaks. `--root` goes before every path."""

    area: ClassVar[Area] = Area("agent", "PRECAST_AGENT_", lambda _: Path("/etc/precast/agent.toml"))

    url: Annotated[str, Setting("the server, as https://HOST:PORT", "URL", variable="PRECAST_URL")] = ""
    fallbacks: Annotated[
        tuple[str, ...], Setting("further servers, for when that one is away", "URL", flag="--fallback")
    ] = ()
    facts_interval: Annotated[
        timedelta,
        Setting(
            "how often facts are collected and sent",
            "TIME",
            read=values.within(values.duration, timedelta(minutes=1), timedelta(days=7)),
        ),
    ] = timedelta(minutes=30)
    splay: Annotated[
        timedelta,
        Setting(
            "what is done so often is done this much later at most, by the node's name",
            "TIME",
            read=values.within(values.duration, timedelta(0), timedelta(days=1)),
        ),
    ] = timedelta(minutes=30)
    fetch_interval: Annotated[
        timedelta,
        Setting(
            "how often it is asked whether something else was released, should no server have said so",
            "TIME",
            read=values.within(values.duration, timedelta(minutes=1), timedelta(days=7)),
        ),
    ] = timedelta(minutes=30)
    apply_interval: Annotated[
        timedelta,
        Setting(
            "how often the catalog that is kept here is applied; 0 for only when it is new or ordered",
            "TIME",
            read=values.within(values.duration, timedelta(0), timedelta(days=30)),
        ),
    ] = timedelta(minutes=30)
    noop: Annotated[bool, Setting("runs only look, unless one is told to enforce", flag="-")] = False
    allow_exec: Annotated[
        bool, Setting("commands that people order through a server are run here, as root if the agent is", flag="-")
    ] = False
    facts_d: Annotated[
        tuple[Path, ...], Setting("external facts from here, not from the usual directories", "DIR")
    ] = ()
    plugins: Annotated[tuple[Path, ...], Setting("Python facts from here, not from the usual directory", "DIR")] = ()
    spool_bytes: Annotated[
        int,
        Setting(
            "how much is kept for a server that is away",
            "SIZE",
            read=values.within(values.size, 1_000_000, 100_000_000_000),
        ),
    ] = 64 * 1024**2
    spool_records: Annotated[
        int,
        Setting("and how many records", "N", read=values.within(values.number, 100, 100_000_000)),
    ] = 10_000
    ack_horizon: Annotated[
        timedelta,
        Setting(
            "how long acknowledged records are kept at least, for a server that lost them",
            "TIME",
            read=values.within(values.duration, timedelta(0), timedelta(days=30)),
        ),
    ] = timedelta(hours=1)
    log_level: Annotated[str, Setting(f"how much is logged: {', '.join(LEVELS)}", read=values.one_of(*LEVELS))] = "info"
    log_file: Annotated[Path | None, Setting("log here, not to standard error", "FILE", read=values.path)] = None

    @property
    def urls(self) -> tuple[str, ...]:
        """Every server, the one to begin with first."""
        return tuple(dict.fromkeys(url for url in (self.url, *self.fallbacks) if url))
