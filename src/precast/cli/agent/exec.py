"""`precast agent exec`: runs one ordered command in a process of its own. Only the daemon starts it; the order is in the local store.

The settings of the node, its policy and the signature of the order must all allow the command before anything is started.
"""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precast.agent.issues import NO_COMMAND
from precast.agent.settings import AgentSettings
from precast.base.errors import PrecastError
from precast.cli.agent.daemon import add_root, opened
from precast.cli.console.settings import load_settings

if TYPE_CHECKING:
    from precast.agent.orders.command_process import OnLines
    from precast.agent.orders.exec_orders import ExecOrders
    from precast.base.clock import Clock
    from precast.wire.jobs.orders import ExecOrder, OutputLine

# The variables of our own environment that a command inherits.
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME")


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "run a command that a server has ordered, if this node allows it (for the daemon)"
    parser = commands.add_parser("exec", help=summary, description=summary)
    parser.add_argument("--order", metavar="ID", required=True, help="the id of the order")
    parser.add_argument("--config", metavar="FILE", type=Path, default=argparse.SUPPRESS, help="the agent's settings")
    add_root(parser)
    parser.set_defaults(run=_run, root=Path("/"))


def _run(args: argparse.Namespace) -> int:
    import msgspec

    from precast.agent.chores.exec import NOT_ALLOWED
    from precast.agent.orders.command_lock import command_locked
    from precast.agent.orders.exec_orders import ExecOrders
    from precast.agent.orders.order_check import check_order
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
        received = orders.find(args.order)
        if received is None:
            raise NO_COMMAND.error(order=args.order)
        try:
            order = check_order(args.root, args.order, received, store.clock.now())
        except PrecastError as error:
            orders.refuse(args.order, error.message)
            wake_daemon(state)
            raise
        orders.begin(args.order)
        wake_daemon(state)

        def send_output(first: int, lines: "list[OutputLine]") -> None:
            spool.put(EXEC_OUTPUT, msgspec.json.encode(ExecOutput(order.order, first, lines)), Importance.EVENT)
            wake_daemon(state)

        _carry_out(order, orders, send_output, args.root, store.clock)
        wake_daemon(state)
    return 0


def _carry_out(order: "ExecOrder", orders: "ExecOrders", send_output: "OnLines", root: Path, clock: "Clock") -> None:
    """Run the command of an order, and report its end or why it could not be started."""
    from precast.agent.orders.command_process import run_command
    from precast.wire.jobs.orders import ExecEnded

    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment["PRECAST_ORDER"] = order.order
    try:
        result = run_command(
            order.argv, order.timeout_s, order.output_bytes, send_output, directory=root, environment=environment
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        orders.give_up(order.order, f"{order.argv[0]} cannot be run: {reason}")
    else:
        orders.end(ExecEnded(order.order, clock.now(), *result))
