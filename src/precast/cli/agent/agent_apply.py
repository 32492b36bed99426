"""`precast agent apply`: one run of the node's own catalog in a process of its own, started by the daemon or by hand.

A run that the daemon starts is a no-op, unless the node's signed policy lets it enforce; and where no valid policy lets any run enforce,
it is look-only: it runs no command of the catalog. With `noop = true` in the agent's configuration it is look-only whatever the policy
says; only `--enforce` by hand on the node overrides that. A run that a server has ordered records the id of its order, and begins each
order only once.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precast.agent.settings import AgentSettings
from precast.base.errors import PrecastError
from precast.cli.console.settings import load_settings

if TYPE_CHECKING:
    import sqlite3

    from precast.agent.applying.reporting.reporter import Reporter
    from precast.agent.applying.run import RunRequest
    from precast.agent.catalog.enforcement import RunMode
    from precast.agent.state.store import LocalStore
    from precast.wire.catalogs.release_pointer import ReleasePointer
    from precast.wire.reports.events import Summary
    from precast.wire.reports.records import RunBegan

REASONS = ("schedule", "released", "ordered", "hand")


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    from precast.cli.agent.apply import add_options

    summary = "apply the cached catalog of this node, or another one"
    parser = commands.add_parser("apply", help=summary, description=summary)
    parser.add_argument("--catalog", metavar="FILE", help="apply this catalog instead of the cached one")
    parser.add_argument("--enforce", action="store_true", help="make changes even if runs are configured as no-op")
    parser.add_argument("--environment", metavar="DIR", help="read file contents and functions from this environment")
    parser.add_argument("--config", metavar="FILE", type=Path, default=argparse.SUPPRESS, help="the agent's settings")
    parser.add_argument("--reason", choices=REASONS, default="hand", help="why the run starts (for the daemon)")
    parser.add_argument("--order", metavar="ID", default="", help="the order that the run carries out (for the daemon)")
    add_options(parser)
    parser.set_defaults(run=_run, modulepath=None, facts=None, strict=False, node=None, state=None, extension=[])


def _run(args: argparse.Namespace) -> int:
    from precast.cli.agent.apply import check_root

    check_root(args.root)
    try:
        return _apply(args, load_settings(AgentSettings, args).values)
    except PrecastError as error:
        if args.order:
            _give_up(args, error)
        raise


def _apply(args: argparse.Namespace, settings: AgentSettings) -> int:
    from precast.agent.applying.run import state_root
    from precast.agent.catalog.filled_catalog import fill, read_with_values
    from precast.agent.catalog.released_run import check_release, find_withheld
    from precast.agent.futures.run_options import FutureOptions
    from precast.agent.state.life import read_life
    from precast.base import digests
    from precast.catalog.document import unseal
    from precast.cli.agent.apply import apply_and_print, build_request
    from precast.cli.console.files import read_bytes

    # Before the policy and the catalog are read, which must be of the same life as the store.
    args.life = read_life(state_root(args.root))
    mode = _mode(args, settings)
    args.noop, args.is_look_only = mode.is_noop, mode.is_look_only
    data, values = (read_bytes(args.catalog), {}) if args.catalog is not None else read_with_values(args.root)
    pointer = check_release(args.root, data, args.life) if args.catalog is None else None
    withheld = find_withheld(args.root, args.life, settings) if values else ""
    document = fill(unseal(data, args.catalog or "the cached catalog"), values, withheld)
    request, name = build_request(document, args)
    request = request._replace(life=args.life, no_secret=withheld or request.no_secret)
    if args.catalog is not None:
        return apply_and_print(request._replace(reporter=_reporter(args, settings, request, mode.refusal)), args, name)
    if args.environment is None:
        from precast.agent.catalog.fetch import CONTENT
        from precast.resources.contents import CachedContents

        request = request._replace(contents=CachedContents(args.root / CONTENT))
    digest = digests.of_bytes(data)
    request = request._replace(
        version=digest,
        futures=FutureOptions(is_released=pointer is not None, attempt=args.order),
        begins=lambda store: _begin(store, settings, args.order, pointer),
        ends=lambda store, db, summary: _end(store, db, settings, args, digest, summary),
    )
    return apply_and_print(request._replace(reporter=_reporter(args, settings, request, mode.refusal)), args, name)


def _reporter(
    args: argparse.Namespace, settings: AgentSettings, request: "RunRequest", refusal: str
) -> "Reporter | None":
    """The reporter of this run; None on a machine that is not enrolled."""
    from precast.agent.catalog.released_run import describe_run, make_reporter

    def describe(store: "LocalStore") -> "RunBegan":
        return describe_run(store, request, is_noop=args.noop, reason=args.reason, order=args.order)

    return make_reporter(args.root, settings, args.life, describe, refusal)


def _mode(args: argparse.Namespace, settings: AgentSettings) -> "RunMode":
    """Decide whether the run is a no-op. Prints the policy's reason to standard error if the policy does not permit enforcement."""
    from precast.agent.catalog.enforcement import decide_mode
    from precast.base.clock import SystemClock

    mode = decide_mode(
        args.root,
        args.reason,
        SystemClock().now(),
        asks_noop=args.noop,
        asks_enforce=args.enforce,
        is_noop_configured=settings.noop,
    )
    if mode.policy_reason:
        print(f"precast: this run is a no-op: {mode.policy_reason}", file=sys.stderr)
    return mode


def _begin(store: "LocalStore", settings: AgentSettings, order: str, pointer: "ReleasePointer | None") -> None:
    """Begin under the run's lease: note the release, and begin the order."""
    from precast.agent.catalog.released_run import begin_release
    from precast.agent.orders.run_orders import RunOrders
    from precast.agent.state.spool import Spool, SpoolLimits

    begin_release(store, pointer)
    if order:
        RunOrders(store, Spool(store, SpoolLimits(settings.spool_records, settings.spool_bytes))).begin(order)


def _end(
    store: "LocalStore",
    db: "sqlite3.Connection",
    settings: AgentSettings,
    args: argparse.Namespace,
    digest: str,
    summary: "Summary",
) -> str:
    """End the order of a run of the cached catalog, and store a note about the run for the daemon. Returns why it was broken off."""
    from precast.agent.catalog.released_run import note_whole_run
    from precast.agent.orders.run_orders import RunOrders
    from precast.agent.state.spool import Spool, SpoolLimits

    why = ""
    if args.order:
        spool = Spool(store, SpoolLimits(settings.spool_records, settings.spool_bytes))
        why = RunOrders(store, spool).end(db, args.order, is_complete=summary.is_complete)
    if summary.is_complete and not args.tags and not args.skip_tags:
        note_whole_run(store, db, digest, args.reason, summary)
    return why


def _give_up(args: argparse.Namespace, error: PrecastError) -> None:
    """Report that an order cannot be carried out. If another run is active or the order is unknown, the order stays as it is."""
    from precast.agent.applying import issues
    from precast.agent.issues import OTHER_LIFE
    from precast.agent.orders.run_orders import RunOrders
    from precast.cli.agent.daemon import opened

    if not any(issue.matches(error) for issue in (issues.RUNS_ALREADY, issues.NO_ORDER, OTHER_LIFE)):
        with opened(args.root, AgentSettings()) as (store, spool):
            RunOrders(store, spool).give_up(args.order, f"{error.message} [{error.code}]")
