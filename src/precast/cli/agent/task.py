"""`precast agent task`: carries out one ordered task of a plan, in a process of its own. Only the daemon starts it; the order is in the
local store.

The signature of the order, the settings of the node and its policy decide whether anything of it begins. All of it happens under the
node's lease, so no run takes place meanwhile.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from precast.agent.settings import AgentSettings
from precast.cli.agent.daemon import add_root
from precast.cli.console.settings import load_settings


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "carry out a task that a server has ordered, if this node allows it (for the daemon)"
    parser = commands.add_parser("task", help=summary, description=summary)
    parser.add_argument("--order", metavar="ID", required=True, help="the id of the order")
    parser.add_argument("--config", metavar="FILE", type=Path, default=argparse.SUPPRESS, help="the agent's settings")
    add_root(parser)
    # What functions that are evaluated on the node are compiled with: no environment, and this machine's facts.
    parser.set_defaults(run=_run, root=Path("/"), environment=None, modulepath=None, facts=None, extension=[])
    parser.set_defaults(strict=False)


def _run(args: argparse.Namespace) -> int:
    from precast.agent.tasks.task_process import carry_out_task
    from precast.cli.agent.apply import check_root

    check_root(args.root)
    args.root = args.root.resolve()
    settings = load_settings(AgentSettings, args).values
    carry_out_task(args.root, settings, args.order, partial(_call, args))
    return 0


def _call(args: argparse.Namespace, name: str, arguments: list[Any]) -> Any:
    """Evaluate a Deferred value. Few catalogs have one, so what that needs is not imported before."""
    from precast.cli.agent.apply import certname
    from precast.cli.compile.local_inputs import functions_of

    return functions_of(args, certname(args.root))(name, arguments)
