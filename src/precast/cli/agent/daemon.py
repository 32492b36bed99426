"""`precast agent` and `precast agent status`: the daemon, and how it is."""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precast.agent.settings import AgentSettings
from precast.base import https
from precast.base.settings import declared
from precast.cli import issues
from precast.cli.console.output import format_time, print_json
from precast.cli.console.parser import declare_exits
from precast.cli.console.settings import add_settings, load_settings

if TYPE_CHECKING:
    from precast.agent.state.spool import Spool
    from precast.agent.state.store import LocalStore

NOT_RUNNING = 1
NOT_CONNECTED = 2


def configure(parser: argparse.ArgumentParser, commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "run the daemon: stay connected, send facts on their schedule (this is also what `precast agent` does)"
    run = commands.add_parser("run", help=summary, description=summary)
    for one in (parser, run):
        add_settings(one, AgentSettings)
        add_root(one)
    parser.set_defaults(run=_run, root=Path("/"))
    run.set_defaults(run=_run)
    status = commands.add_parser(
        "status",
        help="show how the daemon is",
        description="From its local store: works without a server.",
    )
    add_root(status)
    status.add_argument("--json", action="store_true", help="print one JSON document")
    status.set_defaults(run=_status)
    declare_exits(status, {NOT_RUNNING: "it does not run", NOT_CONNECTED: "it runs and is not connected"})


def add_root(parser: argparse.ArgumentParser) -> None:
    # What is not given leaves no trace, so that a flag before a sub-command is not undone by the sub-command's.
    parser.add_argument(
        "--root", metavar="DIR", type=Path, default=argparse.SUPPRESS, help="put every path below DIR (default: /)"
    )


@contextlib.contextmanager
def opened(root: Path, settings: AgentSettings) -> "Iterator[tuple[LocalStore, Spool]]":
    """The local store, for a command that is not the daemon."""
    import secrets

    from precast.agent.state.spool import Spool, SpoolLimits
    from precast.agent.state.store import LocalStore

    store = LocalStore.open(root, lambda: secrets.token_hex(16))
    try:
        yield store, Spool(store, SpoolLimits(settings.spool_records, settings.spool_bytes))
    finally:
        store.close()


def _run(args: argparse.Namespace) -> int:
    from precast.agent.daemon import DaemonOptions, serve

    def load() -> AgentSettings:
        settings = load_settings(AgentSettings, args).values
        if not settings.urls:
            raise issues.NO_SETTING.error(name="url", variable="PRECAST_URL", file="/etc/precast/agent.toml")
        for url in settings.urls:
            https.split_url(url)
        return settings

    root = args.root.absolute()
    options = ["--root", str(root)]
    if "config" in args:
        options += ["--config", str(args.config.absolute())]
    serve(DaemonOptions(root, [sys.executable, sys.argv[0]], options, _flags(args), load))
    return 0


def _flags(args: argparse.Namespace) -> dict[str, str]:
    """What we were told by flags, as variables: children have not all of our flags, but all of our settings."""
    given = {one.variable: getattr(args, one.name) for one in declared(AgentSettings) if one.name in args}
    return {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in given.items()}


def _status(args: argparse.Namespace) -> int:
    from precast.agent.state.daemon_lock import is_daemon_running
    from precast.agent.state.store import store_path

    runs = is_daemon_running(args.root)
    found: dict[str, Any] = {"running": runs}
    if store_path(args.root).exists():
        with opened(args.root, AgentSettings()) as (store, spool):
            found |= _describe(store, spool)
    is_connected = runs and bool(found.get("connection", {}).get("is_connected"))
    found["connected"] = is_connected
    if args.json:
        print_json(found)
    else:
        for name, text in _lines(found):
            print(f"{name:<12} {text}")
    return 0 if is_connected else NOT_CONNECTED if runs else NOT_RUNNING


def _describe(store: "LocalStore", spool: "Spool") -> dict[str, Any]:
    import msgspec

    from precast.agent.catalog.staleness import read_staleness
    from precast.agent.state import status_notes as kinds

    named: dict[str, type[msgspec.Struct]] = {
        "daemon": kinds.DaemonNote,
        "connection": kinds.ConnectionNote,
        "certificate": kinds.CertificateNote,
        "facts": kinds.FactsNote,
        "next_facts": kinds.FactsScheduleNote,
        "catalog": kinds.FetchNote,
        "policy": kinds.PolicyNote,
        "run": kinds.RunNote,
    }
    notes = {name: msgspec.to_builtins(note) for name, kind in named.items() if (note := store.read_note(kind))}
    return {**notes, "spool": spool.counts()._asdict(), "stale": msgspec.to_builtins(read_staleness(store)._asdict())}


def _lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The same for people."""
    daemon, link = found.get("daemon"), found.get("connection")
    if found["running"] and daemon:
        yield (
            "agent",
            f"runs since {_moment(daemon['started_at'])}, process {daemon['pid']}, version {daemon['version']}",
        )
    else:
        yield "agent", "runs" if found["running"] else "does not run"
    if found["connected"] and link:
        yield "connection", f"{link['url']} since {_moment(link['since'])}, epoch {link['epoch']}"
    elif link:
        later = f"; next try {_moment(link['next_try_at'])}" if found["running"] and link["next_try_at"] else ""
        yield "connection", f"none to {link['url']}: {link['trouble'] or 'the agent has ended'}{later}"
    if certificate := found.get("certificate"):
        trouble = f"; {certificate['trouble']}" if certificate["trouble"] else ""
        yield "certificate", f"{certificate['name']}, good until {_moment(certificate['not_after'])}{trouble}"
    if spool := found.get("spool"):
        lost = f"; {spool['lost']} lost for want of room" if spool["lost"] else ""
        yield (
            "spool",
            f"{spool['unsent'] + spool['unacknowledged']} to be sent, {spool['acknowledged']} kept, {spool['bytes']} bytes{lost}",
        )
    if facts := found.get("facts"):
        warnings = f" with {facts['warnings']} warnings" if facts["warnings"] else ""
        yield "facts", f"collected {_moment(facts['collected_at'])}{warnings}"
    if plan := found.get("next_facts"):
        trouble = f"; {plan['trouble']}" if plan["trouble"] else ""
        yield "next facts", f"{_moment(plan['next_at'])}{trouble}"
    yield from _catalog_lines(found)
    if run := found.get("run"):
        yield (
            "last run",
            f"{_moment(run['ended_at'])}: {run['resources']} resources, {run['changed']} changed, {run['failed']} failed"
            + (", no-op" if run["is_noop"] else ""),
        )


def _catalog_lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    catalog, stale = found.get("catalog"), found.get("stale")
    if catalog and catalog["digest"]:
        place = f" of {catalog['environment']}, release {catalog['release']}" if catalog["environment"] else ""
        yield "catalog", f"{catalog['digest'][:12]}{place}, confirmed {_moment(catalog['checked_at'])}"
    elif catalog and catalog["checked_at"]:
        yield "catalog", "nothing is released to this node"
    if policy := found.get("policy"):
        windows = f", in {', '.join(policy['windows'])}" if policy["windows"] else ""
        until = f", good until {_moment(policy['expires_at'])}" if policy["expires_at"] else ""
        words = f"enforce {policy['enforce']}{windows}{until}" if policy["serial"] else "none: runs only look"
        yield "policy", words + (f"; {policy['trouble']}" if policy["trouble"] else "")
    if stale and stale["is_stale"]:
        since = f" since {_moment(stale['since'])}" if stale["since"] else ""
        yield "stale", f"no server confirms the catalog{since}: {stale['why']}"


def _moment(text: str) -> str:
    return format_time(datetime.fromisoformat(text)) or ""
