"""The inputs of a compile in a command: the one place in which options become the data of a node and the answers for its compile.

`compile`, `lookup`, `eval` and `apply` all see a node as a server does. With --from-server the facts, certificate extensions and
classification are those that a server would compile with now; options override them.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from precast.cli.code.local_environments import open_environment, read_facts
from precast.cli.console.exports import read_exports
from precast.cli.console.extensions import add_extensions, read_extensions
from precast.cli.console.given_secrets import add_secrets, read_secrets
from precast.cli.console.settings import ClientSettings, add_settings
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from precast.lang.trusted_data import trusted_data

if TYPE_CHECKING:
    from precast.wire.catalogs.bodies import CompileInputsView


class NodeInputs(NamedTuple):
    """The answers for a node's compile, the node, and the settings."""

    inputs: Inputs
    node: NodeData
    settings: Settings


def add_environment_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the environment and the node, for all commands that compile or look up."""
    parser.add_argument("--environment", metavar="DIR", required=True, help="directory with manifests and modules")
    parser.add_argument("--node", metavar="NAME", required=True, help="the node's name, as in its certificate")
    parser.add_argument("--facts", metavar="FILE", help="facts as JSON or YAML, - for standard input (default: none)")
    add_extensions(parser, "the node's certificate")
    parser.add_argument(
        "--from-server",
        action="store_true",
        help="take the facts, certificate extensions and classification of the node from the server",
    )
    parser.add_argument("--hiera", metavar="FILE", help="the hiera.yaml of the global layer (default: none)")
    add_secrets(parser)
    parser.add_argument(
        "--strict", action="store_true", help="as Puppet 8: unknown variables and similar mistakes are errors"
    )
    add_settings(parser, ClientSettings)


def open_inputs(args: argparse.Namespace, entry: str = "", **settings: Any) -> NodeInputs:
    """The inputs for the node and environment that the options name, and an entry point; `settings` are those of the command.

    Raises what open_environment, read_facts and the server's API raise.
    """
    from precast.services.code.decryption import KeyFiles

    _, files, constants = open_environment(args.environment, args.hiera)
    known = _ask_server(args) if args.from_server else None
    if known is not None:
        constants["server_facts"] = known.server_facts
        settings["environment"] = known.environment
    node = msgspec.structs.replace(make_node(args, args.node, known=known), entry=entry)
    exports = read_exports(args)
    settings["storeconfigs"] = exports is not None
    keys, secrets = KeyFiles.below(Path.cwd()), read_secrets(args)
    inputs = Inputs(NodeAnswers(node, files, constants, decryptor=keys, exports=exports, secrets=secrets))
    return NodeInputs(inputs, node, make_settings(args, **settings))


def make_settings(args: argparse.Namespace, **others: Any) -> Settings:
    return Settings.puppet8(**others) if args.strict else Settings(**others)


def make_node(
    args: argparse.Namespace,
    certname: str,
    facts: dict[str, Any] | None = None,
    *,
    authenticated: Literal["remote", "local"] = "remote",
    known: "CompileInputsView | None" = None,
) -> NodeData:
    """The data of a node: what the server knows, if it was asked, and above it what the options give.

    `facts` are used if neither gives any. Raises what read_facts raises, and InputError CLI-001.
    """
    # Not `facts or {}`: facts of this machine are collected when they are read, and asking whether there are any reads all.
    node = NodeData.local(certname, {} if facts is None else facts)
    if known is not None:
        node = NodeData(certname, known.facts, known.trusted, known.classes, known.parameters)
    extensions = {**node.trusted["extensions"], **read_extensions(args)}
    return msgspec.structs.replace(
        node,
        facts=read_facts(args.facts) if args.facts else node.facts,
        trusted=trusted_data(certname, extensions, authenticated),
    )


def _ask_server(args: argparse.Namespace) -> "CompileInputsView":
    from precast.cli.console.client import connect, segment
    from precast.wire.catalogs.bodies import CompileInputsView

    return connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/inputs", CompileInputsView)
