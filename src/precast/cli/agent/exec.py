"""`precast agent exec`: carries out one ordered command, or an ordered reboot, in a process of its own. Only the daemon starts it; the
order is in the local store.

The settings of the node, its policy and the signature of the order must all allow the command before anything is started. The command runs
under the node's lease, so no run takes place meanwhile.
"""

import argparse
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precast.agent.issues import NO_COMMAND
from precast.agent.settings import AgentSettings
from precast.base.errors import PrecastError
from precast.cli.agent.daemon import add_root, opened
from precast.cli.console.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from precast.agent.orders.command_process import OnLines
    from precast.agent.orders.exec_orders import ExecOrders
    from precast.agent.orders.reboot_orders import RebootOrders
    from precast.agent.state.spool import Spool
    from precast.agent.state.store import LocalStore
    from precast.agent.tasks.context import TaskContext
    from precast.wire.jobs.orders import ExecOrder, OutputLine

# How often the process of a reboot looks whether the machine should have gone down by now.
_POLL_S = 1.0


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "run a command that a server has ordered, if this node allows it (for the daemon)"
    parser = commands.add_parser("exec", help=summary, description=summary)
    parser.add_argument("--order", metavar="ID", required=True, help="the id of the order")
    parser.add_argument("--config", metavar="FILE", type=Path, default=argparse.SUPPRESS, help="the agent's settings")
    add_root(parser)
    parser.set_defaults(run=_run, root=Path("/"))


def _run(args: argparse.Namespace) -> int:
    from precast.agent.orders.exec_orders import ExecOrders
    from precast.agent.orders.order_check import NO_COMMANDS
    from precast.agent.orders.reboot_orders import RebootOrders
    from precast.agent.state.paths import STATE
    from precast.agent.state.wakeup import wake_daemon

    settings = load_settings(AgentSettings, args).values
    with opened(args.root, settings) as (store, spool):
        commands, reboots = ExecOrders(store, spool), RebootOrders(store, spool)
        orders = reboots if reboots.find(args.order) is not None else commands
        try:
            if orders.find(args.order) is None:
                raise NO_COMMAND.error(order=args.order)
            if not settings.allow_exec:
                orders.refuse(args.order, NO_COMMANDS)
            elif orders is reboots:
                _reboot(args, settings, store, reboots)
            else:
                _run_command(args, settings, store, spool, commands)
        finally:
            wake_daemon(args.root / STATE)
    return 0


def _run_command(
    args: argparse.Namespace, settings: AgentSettings, store: "LocalStore", spool: "Spool", orders: "ExecOrders"
) -> None:
    """Run the command of an order under the lease, and send its output."""
    import msgspec

    from precast.agent.applying.lease import lease_held
    from precast.agent.applying.run import describe_holder
    from precast.agent.orders.order_check import check_order
    from precast.agent.orders.work_process import WAIT_S
    from precast.agent.state.spool import Importance
    from precast.agent.state.wakeup import wake_daemon
    from precast.agent.tasks.context import TaskContext
    from precast.agent.tasks.files.whole_output import SEND_S
    from precast.wire.jobs.orders import EXEC_OUTPUT, ExecOutput

    received = orders.find(args.order)
    assert received is not None, "the caller has found it"

    def send_output(first: int, lines: "list[OutputLine]") -> None:
        spool.put(EXEC_OUTPUT, msgspec.json.encode(ExecOutput(order.order, first, lines)), Importance.EVENT)
        wake_daemon(store.path.parent)

    holder = f"the command {args.order}, {describe_holder(store.clock)}"
    with lease_held(store, holder, WAIT_S):
        try:
            order = check_order(args.root, args.order, received, store.clock.now())
        except PrecastError as error:
            orders.refuse(args.order, error.message)
            raise
        # Before the order is begun: an order whose process dies by a signal is answered later than necessary.
        must_stop = _catch_stop()
        orders.begin(args.order)
        wake_daemon(store.path.parent)
        context = TaskContext(
            order.order,
            args.root,
            settings,
            store,
            time.monotonic() + order.timeout_s + SEND_S,
            must_stop,
            lambda lines: None,
        )
        _carry_out(order, orders, send_output, context)


def _carry_out(order: "ExecOrder", orders: "ExecOrders", send_output: "OnLines", context: "TaskContext") -> None:
    """Run the command of an order, and report its end or why it could not be started. Output that exceeds its limit is sent as content."""
    from precast.agent.orders.command_process import command_environment, run_command
    from precast.agent.tasks.files.whole_output import OutputSpool
    from precast.wire.jobs.orders import ExecEnded

    with OutputSpool(context.root) as output:
        try:
            result = run_command(
                order.argv,
                order.timeout_s,
                order.output_bytes,
                send_output,
                directory=context.root,
                environment=command_environment(order.order),
                must_stop=context.must_stop,
                on_piece=lambda stream, piece: output.add(piece),
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            orders.give_up(order.order, f"{order.argv[0]} cannot be run: {reason}")
            return
        whole = output.send_alone(context) if result.cut_bytes and not result.is_stopped else None
    ended = ExecEnded(
        order.order,
        context.store.clock.now(),
        result.code,
        result.signal,
        result.is_overdue,
        result.lines,
        result.cut_bytes,
        whole,
    )
    orders.end(ended, is_stopped=result.is_stopped)


def _catch_stop() -> "Callable[[], bool]":
    """Let SIGTERM end the command instead of this process. Returns whether it was received."""
    received: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    return lambda: bool(received)


def _reboot(args: argparse.Namespace, settings: AgentSettings, store: "LocalStore", orders: "RebootOrders") -> None:
    """Reboot the machine. It then ends this process; the next daemon answers the order."""
    from precast.agent.applying.lease import lease_held
    from precast.agent.applying.run import describe_holder
    from precast.agent.orders.order_check import check_reboot
    from precast.agent.orders.reboot_command import NO_REBOOT, find_reboot_command, request_reboot
    from precast.agent.orders.reboot_orders import DEADLINE_S
    from precast.agent.orders.work_process import WAIT_S

    command = find_reboot_command(args.root, settings.reboot_command)
    if command is None:
        orders.refuse(args.order, NO_REBOOT)
        return
    try:
        check_reboot(args.root, args.order, store.clock.now())
    except PrecastError as error:
        orders.refuse(args.order, error.message)
        raise
    with lease_held(store, f"the reboot {args.order}, {describe_holder(store.clock)}", WAIT_S):
        orders.begin(args.order)
        if failure := request_reboot(command):
            orders.end(args.order, is_success=False, message=failure)
            return
        until_s = store.clock.monotonic_s() + DEADLINE_S
        while store.clock.monotonic_s() < until_s:
            time.sleep(_POLL_S)
        orders.expire(args.order)
