"""`precast agent network`: the process that talks to a server for the daemon, without privileges. Only the daemon starts it."""

import argparse
import socket
from pathlib import Path
from typing import Any

from precast.agent.settings import AgentSettings
from precast.cli.agent.daemon import add_root
from precast.cli.console.settings import load_settings


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "connect to a server without privileges; the daemon is at standard input (for the daemon)"
    parser = commands.add_parser("network", help=summary, description=summary)
    parser.add_argument("--config", metavar="FILE", type=Path, default=argparse.SUPPRESS, help="the agent's settings")
    add_root(parser)
    parser.set_defaults(run=_run, root=Path("/"))


def _run(args: argparse.Namespace) -> int:
    from precast.agent.connection.session_child import refuse_session, serve_session
    from precast.agent.identity.credentials import Credentials
    from precast.base.errors import PrecastError
    from precast.cli import issues

    try:
        peer = socket.socket(fileno=0)
    except OSError:
        raise issues.USAGE.error(problem="standard input is not a socket", usage="the daemon starts it") from None
    try:
        user = load_settings(AgentSettings, args).values.network_user
        serve_session(peer, Credentials(args.root).context(), user)
    except PrecastError as error:
        refuse_session(peer, error)
        raise
    except LookupError as error:
        refuse_session(peer, issues.USAGE.error(problem=f"network_user: {error}", usage="see agent.toml"))
        return 1
    return 0
