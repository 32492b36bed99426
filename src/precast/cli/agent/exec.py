"""`precast agent exec`: one ordered command, in a process of its own. Only the daemon starts it: the order is in the local store."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precast.agent.settings import AgentSettings
from precast.cli.agent.daemon import add_root, opened
from precast.cli.console.settings import load_settings

if TYPE_CHECKING:
    from precast.agent.orders.command_process import OnLines
    from precast.agent.orders.exec_orders import ExecOrders
    from precast.base.clock import Clock
    from precast.wire.jobs.orders import ExecOrder, OutputLine

# Of our own environment, what a command gets.
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME")


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "run a command that a server has ordered, if this node allows it (for the daemon)"
    parser = commands.add_parser("exec", help=summary, description=summary)
    parser.add_argument("--order", metavar="ID", required=True, help="which")
    parser.add_argument("--config", metavar="FILE", type=Path, default=argparse.SUPPRESS, help="the agent's settings")
    add_root(parser)
    parser.set_defaults(run=_run, root=Path("/"))


def _run(args: argparse.Namespace) -> int:
    import msgspec

    from precast.agent.chores.exec import NOT_ALLOWED
    from precast.agent.orders.command_lock import command_locked
    from precast.agent.orders.exec_orders import ExecOrders
    from precast.agent.state.paths import STATE
    from precast.agent.state.spool import Importance
    from precast.agent.state.wakeup import wake_daemon
    from precast.wire.jobs.orders import EXEC_OUTPUT, ExecOutput

    settings = load_settings(AgentSettings, args).values
    state = args.root / STATE
    with opened(args.root, settings) as (store, spool), command_locked(state, args.order):
        orders = ExecOrders(store, spool)
        if not settings.allow_exec:
            orders.refuse(args.order, NOT_ALLOWED)
            return 0
        order = orders.begin(args.order)
        wake_daemon(state)

        def tell(first: int, lines: "list[OutputLine]") -> None:
            spool.put(EXEC_OUTPUT, msgspec.json.encode(ExecOutput(order.order, first, lines)), Importance.EVENT)
            wake_daemon(state)

        _follow(order, orders, tell, args.root, store.clock)
        wake_daemon(state)
    return 0


def _follow(order: "ExecOrder", orders: "ExecOrders", tell: "OnLines", root: Path, clock: "Clock") -> None:
    """Run it, and answer, whatever comes of it."""
    from precast.agent.orders.command_process import run_command
    from precast.wire.jobs.orders import ExecEnded

    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment["PRECAST_ORDER"] = order.order
    try:
        ran = run_command(
            order.argv, order.timeout_s, order.output_bytes, tell, directory=root, environment=environment
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        orders.give_up(order.order, f"{order.argv[0]} cannot be run: {reason}")
    else:
        orders.end(ExecEnded(order.order, clock.now(), *ran))
