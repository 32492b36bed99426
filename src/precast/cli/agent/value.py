"""`precast value`: values that other nodes have promised, for any program on this node, from the local store and without a server."""

import argparse
import json
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precast.cli.agent.daemon import add_root
from precast.cli.console.parser import declare_exits

if TYPE_CHECKING:
    from precast.agent.futures.key_states import KeyState

NO_VALUE = 1
TIMEOUT_S = 600.0


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    get = commands.add_parser(
        "get",
        help="print the value of a key",
        description="Print a value that this node's catalog needs, as a run of it would get it: text as it is, everything else as JSON.",
    )
    get.add_argument("key", metavar="KEY", help="the key that another node promises")
    get.add_argument("--node", metavar="NODE", help="the value that this node has promised, if several have")
    get.add_argument("--wait", action="store_true", help="wait until there is a value")
    get.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=TIMEOUT_S,
        help=f"with --wait: for how long at most (default: {TIMEOUT_S:g})",
    )
    get.add_argument("--json", action="store_true", help="print one JSON document with the values of all nodes")
    add_root(get)
    get.set_defaults(run=_get, root=Path("/"))
    declare_exits(get, {NO_VALUE: "there is no value, or it may not be used any more"})


def _get(args: argparse.Namespace) -> int:
    from precast.agent.futures.reading import await_values, find_values
    from precast.agent.state.store import LocalStore, store_path

    path = store_path(args.root)
    try:
        is_there = path.is_file() and os.access(path, os.R_OK | os.W_OK)
        has_state = path.parent.exists()
    except PermissionError:
        is_there, has_state = False, True
    if not is_there:
        return _refuse(f"only root may read the values of this node, in {path.parent}" if has_state else NO_AGENT)
    with closing(LocalStore.open(args.root, lambda: os.urandom(16).hex())) as store:
        found = (
            await_values(store, args.key, args.node, args.timeout)
            if args.wait
            else find_values(store, args.key, args.node)
        )
    if not found.states:
        waited = f"waited {args.timeout:g} s: " if args.wait else ""
        return _refuse(f"{waited}{found.reason}")
    if args.json:
        print(json.dumps({"key": args.key, "values": {each.node: _read(each) for each in found.states}}, indent=2))
        return 0
    if len(found.states) > 1:
        names = ", ".join(state.node for state in found.states[:3])
        return _refuse(
            f"{len(found.states)} nodes have promised {args.key}: {names}; choose one with --node, or use --json"
        )
    value = _read(found.states[0])
    print(value if isinstance(value, str) else json.dumps(value))
    return 0


NO_AGENT = "this machine has no agent state: no value has ever come to it"


def _refuse(reason: str) -> int:
    print(f"precast: {reason}", file=sys.stderr)
    return NO_VALUE


def _read(state: "KeyState") -> Any:
    return json.loads(state.value)
