"""`precast agent run` and `precast agent status`: start the daemon, and show its state."""

import argparse
import contextlib
import os
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
    for command in (parser, run):
        add_settings(command, AgentSettings)
        add_root(command)
    parser.set_defaults(run=_run, root=Path("/"))
    run.set_defaults(run=_run)
    status = commands.add_parser(
        "status",
        help="show the state of the daemon",
        description="Read the state of the daemon from its local store, without a server.",
    )
    add_root(status)
    status.add_argument("--json", action="store_true", help="print one JSON document")
    status.set_defaults(run=_status)
    declare_exits(
        status, {NOT_RUNNING: "the daemon is not running", NOT_CONNECTED: "the daemon is running but not connected"}
    )


def add_root(parser: argparse.ArgumentParser) -> None:
    # Without a default, so that the sub-command does not overwrite a flag that was given before it.
    parser.add_argument(
        "--root", metavar="DIR", type=Path, default=argparse.SUPPRESS, help="put every path below DIR (default: /)"
    )


@contextlib.contextmanager
def opened(root: Path, settings: AgentSettings, life: str | None = None) -> "Iterator[tuple[LocalStore, Spool]]":
    """The local store and its spool, opened for a command other than the daemon, and if it still is the store of a life."""
    import secrets

    from precast.agent.state.spool import Spool, SpoolLimits
    from precast.agent.state.store import LocalStore

    store = LocalStore.open(root, lambda: secrets.token_hex(16), life=life)
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
    if serve(DaemonOptions(root, [sys.executable, sys.argv[0]], options, _flags(args), load)):
        # In the same process, so that it does not matter whether a supervisor would restart the daemon, and how soon.
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - our own program
    return 0


def _flags(args: argparse.Namespace) -> dict[str, str]:
    """Our flags as environment variables: child processes do not know all of our flags, but all of our settings."""
    values = {
        setting.variable: getattr(args, setting.name) for setting in declared(AgentSettings) if setting.name in args
    }
    return {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in values.items()}


def _status(args: argparse.Namespace) -> int:
    from precast.agent.state.daemon_lock import is_daemon_running
    from precast.agent.state.store import store_path

    is_running = is_daemon_running(args.root)
    status: dict[str, Any] = {"running": is_running}
    if store_path(args.root).exists():
        with opened(args.root, AgentSettings()) as (store, spool):
            status |= _describe(store, spool)
    is_connected = is_running and bool(status.get("connection", {}).get("is_connected"))
    status["connected"] = is_connected
    if args.json:
        print_json(status)
    else:
        for name, text in _lines(status):
            print(f"{name:<12} {text}")
    return 0 if is_connected else NOT_CONNECTED if is_running else NOT_RUNNING


def _describe(store: "LocalStore", spool: "Spool") -> dict[str, Any]:
    import msgspec

    from precast.agent.catalog.staleness import read_staleness
    from precast.agent.state import status_notes as kinds

    named: dict[str, type[msgspec.Struct]] = {
        "daemon": kinds.DaemonNote,
        "connection": kinds.ConnectionNote,
        "network": kinds.NetworkNote,
        "certificate": kinds.CertificateNote,
        "facts": kinds.FactsNote,
        "next_facts": kinds.FactsScheduleNote,
        "catalog": kinds.FetchNote,
        "policy": kinds.PolicyNote,
        "run": kinds.RunNote,
    }
    notes = {name: msgspec.to_builtins(note) for name, kind in named.items() if (note := store.read_note(kind))}
    return {**notes, "spool": spool.counts()._asdict(), "stale": msgspec.to_builtins(read_staleness(store)._asdict())}


def _lines(status: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The status as names and texts for people."""
    daemon, link = status.get("daemon"), status.get("connection")
    if status["running"] and daemon:
        yield (
            "agent",
            f"running since {_format_time(daemon['started_at'])}, process {daemon['pid']}, version {daemon['version']}",
        )
    else:
        yield "agent", "running" if status["running"] else "not running"
    if status["connected"] and link:
        yield "connection", f"{link['url']} since {_format_time(link['since'])}, epoch {link['epoch']}"
    elif link:
        later = (
            f"; next attempt {_format_time(link['next_try_at'])}" if status["running"] and link["next_try_at"] else ""
        )
        yield "connection", f"none to {link['url']}: {link['trouble'] or 'the agent is not running'}{later}"
    if network := status.get("network"):
        lacks = "".join(f"; lacks {lack}" for lack in network["lacks"])
        yield "network", f"talks to servers as user {network['uid']}{lacks}"
    if certificate := status.get("certificate"):
        trouble = f"; {certificate['trouble']}" if certificate["trouble"] else ""
        yield "certificate", f"{certificate['name']}, valid until {_format_time(certificate['not_after'])}{trouble}"
    if spool := status.get("spool"):
        lost = f"; {spool['lost']} lost because the spool was full" if spool["lost"] else ""
        yield (
            "spool",
            f"{spool['unsent'] + spool['unacknowledged']} unsent, {spool['acknowledged']} acknowledged, {spool['bytes']} bytes{lost}",
        )
    if facts := status.get("facts"):
        warnings = f" with {facts['warnings']} warnings" if facts["warnings"] else ""
        yield "facts", f"collected {_format_time(facts['collected_at'])}{warnings}"
    if plan := status.get("next_facts"):
        trouble = f"; {plan['trouble']}" if plan["trouble"] else ""
        yield "next facts", f"{_format_time(plan['next_at'])}{trouble}"
    yield from _catalog_lines(status)
    if run := status.get("run"):
        yield (
            "last run",
            f"{_format_time(run['ended_at'])}: {run['resources']} resources, {run['changed']} changed, {run['failed']} failed"
            + (", no-op" if run["is_noop"] else ""),
        )


def _catalog_lines(status: dict[str, Any]) -> Iterator[tuple[str, str]]:
    catalog, stale = status.get("catalog"), status.get("stale")
    if catalog and catalog["digest"]:
        origin = f" of {catalog['environment']}, release {catalog['release']}" if catalog["environment"] else ""
        yield "catalog", f"{catalog['digest'][:12]}{origin}, confirmed {_format_time(catalog['checked_at'])}"
    elif catalog and catalog["checked_at"]:
        yield "catalog", "no catalog is released to this node"
    if policy := status.get("policy"):
        windows = f", in {', '.join(policy['windows'])}" if policy["windows"] else ""
        until = f", valid until {_format_time(policy['expires_at'])}" if policy["expires_at"] else ""
        text = f"enforce {policy['enforce']}{windows}{until}" if policy["serial"] else "none: all runs are no-op"
        yield "policy", text + (f"; {policy['trouble']}" if policy["trouble"] else "")
    if stale and stale["is_stale"]:
        since = f" since {_format_time(stale['since'])}" if stale["since"] else ""
        yield "stale", f"no server confirms the catalog{since}: {stale['why']}"


def _format_time(text: str) -> str:
    return format_time(datetime.fromisoformat(text)) or ""
