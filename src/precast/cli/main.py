"""The `precast` command: it finds the command group, runs the command, and turns every error into one line and an exit code.

Only the module of the requested group is imported: a node does not have the packages of the server, and commands must start fast.
"""

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from precast import __version__
from precast.base.errors import PrecastError
from precast.cli import issues
from precast.cli.console.output import OutputFailed, discard, watched_stdout
from precast.cli.console.parser import Parser

# The module of each command group, or a function in one, that configures its parser; and its line in `precast --help`.
GROUPS: dict[str, tuple[str, str]] = {
    "apply": ("precast.cli.agent.apply", "apply a manifest or a catalog to this machine"),
    "boot": ("precast.cli.boot.boot", "configure a new machine from its data sources, and explain what was done"),
    "catalog": ("precast.cli.catalogs.catalog", "catalogs of nodes: staged, served, their differences and reasons"),
    "compile": ("precast.cli.compile.compile", "compile a node's catalog from an environment on disk"),
    "db": ("precast.cli.server.db", "the server's database: migrate, check, back up, restore, show the work queue"),
    "resource": (
        "precast.cli.agent.resource",
        "show the resources of this machine as Puppet code, or apply one resource",
    ),
    "value": ("precast.cli.agent.value", "values that other nodes have promised, for any program on this machine"),
    "eval": ("precast.cli.compile.eval", "evaluate Puppet code and print its value"),
    "facts": ("precast.cli.facts.facts", "the facts of this machine or of nodes"),
    "lookup": ("precast.cli.compile.lookup", "look up a key in Hiera, and explain its value"),
    "net": ("precast.cli.net.net", "Petri nets: check, simulate, draw, export, import"),
    "query": (
        "precast.cli.query.query",
        "query the fleet: nodes, facts, resources in released catalogs, reports",
    ),
    "server": ("precast.cli.server.server", "the server: initialise a site once, then serve"),
    "agent": ("precast.cli.agent.agent", "the agent of this machine: its daemon, certificate, facts and runs"),
    "node": ("precast.cli.nodes.node", "the nodes of a site: list, show, classify, deactivate, purge"),
    "env": (
        "precast.cli.code.env",
        "environments: deploy code, list, show, compare, roll back; their modules and facts",
    ),
    "exports": ("precast.cli.exports", "exported resources: what nodes export for others, and who collects it"),
    "future": ("precast.cli.futures", "values that nodes promise and others wait for: list, get, put, watch"),
    "signer": ("precast.cli.identity.signer", "the signer: the process that has the authority's key"),
    "ca": ("precast.cli.identity.ca", "certificates of nodes: list, sign, reject, revoke, clean, rotate"),
    "release": ("precast.cli.catalogs.release:configure_release", "release the staged catalogs of nodes"),
    "rollback": ("precast.cli.catalogs.release:configure_rollback", "roll nodes back to their previous release"),
    "approval": ("precast.cli.approvals.approval", "requests that other people must approve: list, show, decide"),
    "report": ("precast.cli.reports.report", "reports of runs: list, show, watch"),
    "web": ("precast.cli.server.web", "print the address of the dashboard"),
    "window": ("precast.cli.windows.window", "maintenance windows: when actions may begin on which nodes"),
    "plan": (
        "precast.cli.plans.plan",
        "plans: check, draw and explain graphs of tasks; start them over nodes, and follow them",
    ),
    "run": ("precast.cli.jobs.run", "let nodes apply their released catalogs now; list, show and stop runs"),
    "action": ("precast.cli.actions.action", "actions of nodes: now, at a time, by a schedule, when they connect"),
    "exec": ("precast.cli.jobs.exec", "run a command on nodes that allow it, and show its output"),
    "token": ("precast.cli.identity.tokens:configure_token", "tokens of people, and tokens that enrol nodes"),
    "validate": ("precast.cli.compile.validate", "check the syntax of manifests and templates"),
    "doc": ("precast.cli.compile.doc", "documentation of the language's functions and resource types"),
    "secrets": (
        "precast.cli.secrets.secrets",
        "secrets: which catalogs have them, where they come from, the state of their keys; never their values",
    ),
    "audit": ("precast.cli.identity.audit", "show, check and export the audit log"),
    "status": ("precast.cli.nodes.status", "show the status of the site on one screen"),
    "support-bundle": ("precast.cli.server.support", "collect diagnostic data in one file, without secrets"),
    "completion": ("precast.cli.completion", "print a completion script for bash, zsh or fish"),
    "config": ("precast.cli.server.config", "show the settings and their sources"),
}


def build_parser(groups: Sequence[str], named: Sequence[str] | None = None) -> Parser:
    """The parser with the commands of these groups; of the others it has only the names."""
    parser = Parser(
        prog="precast",
        description="Compile every node's configuration ahead of time, release it, and apply it on demand.",
    )
    parser.add_argument("--version", action="version", version=f"precast {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="group", required=True, parser_class=Parser
    )
    for name in GROUPS if named is None else named:
        place, summary = GROUPS[name]
        group_parser = commands.add_parser(name, help=summary, description=summary)
        if name in groups:
            _configure(place)(group_parser)
    return parser


def _parser(argv: Sequence[str]) -> Parser:
    """The parser for a command line. If that begins with a group, the other groups are left out."""
    if argv and argv[0] in GROUPS:
        return build_parser(argv[:1], argv[:1])
    # Options before the group take no value, so the first word without a dash is the group.
    return build_parser([word for word in argv if not word.startswith("-")][:1])


def _configure(place: str) -> Callable[[argparse.ArgumentParser], None]:
    """The function that adds a group's commands. Each command sets `run`, which takes the parsed arguments and returns the exit code."""
    module, _, function = place.partition(":")
    _import_msgspec()
    configure: Callable[[argparse.ArgumentParser], None] = getattr(
        importlib.import_module(module), function or "configure"
    )
    return configure


def _import_msgspec() -> None:
    """Import msgspec, which every group needs, without typing_extensions.

    msgspec imports that package if it is installed, which takes longer than msgspec itself. Precast does not use it, so this makes it
    look absent. On a node, where only the packages of the agent are installed, it is absent.
    """
    name = "typing_extensions"
    if "msgspec" in sys.modules or name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment] # prevents the import of the module
    try:
        importlib.import_module("msgspec")
    finally:
        del sys.modules[name]


def main(argv: Sequence[str]) -> int:
    """Run one command line and return the exit code. This is the boundary where every error becomes a message."""
    code = 0
    try:
        with watched_stdout():
            code = _run(argv)
    except OutputFailed as failed:
        discard(sys.stdout)
        # The reader has closed the pipe, as a pager does: that alone is not a failure.
        if not isinstance(failed.reason, BrokenPipeError):
            return _report(issues.OUTPUT.error(reason=failed.reason.strerror or failed.reason))
    return code


def _run(argv: Sequence[str]) -> int:
    try:
        args = _parser(argv).parse_args(argv)
        _enable_collector()
        code: int = args.run(args)
    except PrecastError as error:
        return _report(error)
    except ExceptionGroup as group:
        return _report(_first_of(group))
    except KeyboardInterrupt:
        return 130
    except SystemExit as exiting:  # after --help and --version
        return int(exiting.code or 0)
    except OutputFailed:
        raise
    except Exception as error:  # noqa: BLE001 - the outermost boundary: no traceback reaches a user
        return _report(issues.INTERNAL.error(problem=f"{type(error).__name__}: {error}"))
    return code


def _enable_collector() -> None:
    """Enable the garbage collector if it is off. The objects that exist now live until the end, so they are exempt from collection."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _first_of(group: ExceptionGroup[Exception]) -> PrecastError:
    """The error to report when several tasks failed together: the first PrecastError, or an internal error."""
    error: Exception = group.subgroup(PrecastError) or group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, PrecastError):
        return error
    return issues.INTERNAL.error(problem=f"{type(error).__name__}: {error}")


def _report(error: PrecastError) -> int:
    # An error in a file begins with the file's name, as compilers print it and editors parse it.
    text = error.render() if error.source is not None else f"precast: {error.render()}"
    try:
        if os.environ.get("PRECAST_DEBUG", "0") not in ("", "0"):
            import traceback  # slow to import, and needed only for debugging

            traceback.print_exc()
        print(text, file=sys.stderr)
    except OSError:  # the message cannot be printed; the exit code still reports the failure
        discard(sys.stderr)
    return error.consequence.exit_code
