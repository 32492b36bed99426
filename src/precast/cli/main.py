"""The `precast` command: finds the command group, runs it, and turns every error into one line and an exit code.

Only the group that is asked for is imported: a node has no server packages, and a command should start at once.
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

# Where each command group is configured (a module of this package, or a function in one), and its line in `precast --help`.
GROUPS: dict[str, tuple[str, str]] = {
    "apply": ("precast.cli.agent.apply", "bring this machine to what a manifest or a catalog wants"),
    "boot": ("precast.cli.boot.boot", "bring a fresh machine up from its data sources; what happened and why"),
    "catalog": ("precast.cli.catalogs.catalog", "catalogs of nodes: staged, served, how they differ, why"),
    "compile": ("precast.cli.compile.compile", "compile a node's catalog from an environment on disk"),
    "db": ("precast.cli.server.db", "the server's database: migrate, check, back up, restore, look at waiting work"),
    "resource": (
        "precast.cli.agent.resource",
        "what there is on this machine, as Puppet code; set one resource in place",
    ),
    "eval": ("precast.cli.compile.eval", "evaluate Puppet code and print its value"),
    "facts": ("precast.cli.facts.facts", "what a machine says about itself"),
    "lookup": ("precast.cli.compile.lookup", "look a key up in Hiera, and see why it has its value"),
    "net": ("precast.cli.net.net", "Petri nets: check, simulate, draw, export, import"),
    "query": (
        "precast.cli.query.query",
        "what is known of the fleet: nodes, facts, resources in released catalogs, reports",
    ),
    "server": ("precast.cli.server.server", "the server: make its authority and database once, then serve"),
    "agent": ("precast.cli.agent.agent", "this machine as a node: its daemon, its certificate, its facts"),
    "node": ("precast.cli.nodes.node", "the nodes a server knows: list, show, classify, deactivate, purge"),
    "env": (
        "precast.cli.code.env",
        "environments: deploy code, list, show, compare, roll back; their modules and facts",
    ),
    "ca": ("precast.cli.identity.ca", "certificates of nodes: list, sign, reject, revoke, clean, rotate"),
    "release": ("precast.cli.catalogs.release:configure_release", "serve nodes what is staged for them"),
    "rollback": ("precast.cli.catalogs.release:configure_rollback", "serve nodes what they were served before"),
    "report": ("precast.cli.reports.report", "what runs on nodes came to: list, show, watch"),
    "web": ("precast.cli.server.web", "where the dashboard is"),
    "run": ("precast.cli.jobs.run", "have nodes apply what was released to them, now; runs: list, show, stop"),
    "exec": ("precast.cli.jobs.exec", "run a command on nodes that allow it, and see what it says"),
    "token": ("precast.cli.identity.tokens:configure_token", "tokens of people and for enrolling nodes"),
    "validate": ("precast.cli.compile.validate", "whether manifests and templates are well-formed"),
    "doc": ("precast.cli.compile.doc", "functions of the language and managed types: what they take"),
    "audit": ("precast.cli.identity.tokens:configure_audit", "who did what"),
    "status": ("precast.cli.nodes.status", "the state of the site on one screen"),
    "support-bundle": ("precast.cli.server.support", "collect what somebody who helps needs, without secrets"),
    "completion": ("precast.cli.console.completion", "completion for bash, zsh and fish"),
    "config": ("precast.cli.server.config", "settings, and where each came from"),
}


def build_parser(groups: Sequence[str], named: Sequence[str] | None = None) -> Parser:
    """The parser with these groups filled in; the others are only named."""
    parser = Parser(
        prog="precast", description="Compile every node's configuration ahead of time, hold it, set it in place on cue."
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
    """The parser for a command line. Where that begins with a group, the others need not even be named."""
    if argv and argv[0] in GROUPS:
        return build_parser(argv[:1], argv[:1])
    # Options before the group take no value, so the first word without a dash is the group.
    return build_parser([word for word in argv if not word.startswith("-")][:1])


def _configure(place: str) -> Callable[[argparse.ArgumentParser], None]:
    """What adds a group's commands; each of these sets `run`, which takes the parsed arguments and returns the exit code."""
    module, _, function = place.partition(":")
    _import_msgspec()
    configure: Callable[[argparse.ArgumentParser], None] = getattr(
        importlib.import_module(module), function or "configure"
    )
    return configure


def _import_msgspec() -> None:
    """Import msgspec, which every group stands on, without typing_extensions.

    msgspec takes that if some other package brought it, and its import takes longer than all of msgspec. Nothing here is declared with
    it, so msgspec is told that there is none; on a node, where only what the agent needs is installed, there is none.
    """
    name = "typing_extensions"
    if "msgspec" in sys.modules or name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment] # what keeps a module from being imported
    try:
        importlib.import_module("msgspec")
    finally:
        del sys.modules[name]


def main(argv: Sequence[str], app: Callable[[], object] | None = None) -> int:
    """Run one command line; returns the exit code. The boundary where every error becomes words.

    `app` makes what commands that run a server stand on; each says by a Protocol what it needs.
    """
    code = 0
    try:
        with watched_stdout():
            code = _run(argv, app)
    except OutputFailed as failed:
        discard(sys.stdout)
        # Whoever closed the pipe has seen enough: that alone is no failure.
        if not isinstance(failed.reason, BrokenPipeError):
            return _report(issues.OUTPUT.error(reason=failed.reason.strerror or failed.reason))
    return code


def _run(argv: Sequence[str], app: Callable[[], object] | None) -> int:
    try:
        args = _parser(argv).parse_args(argv)
        args.app = app
        _collect_from_here()
        code: int = args.run(args)
    except PrecastError as error:
        return _report(error)
    except ExceptionGroup as group:
        return _report(_first_of(group))
    except KeyboardInterrupt:
        return 130
    except SystemExit as done:  # --help and --version have printed
        return int(done.code or 0)
    except OutputFailed:
        raise
    except Exception as error:  # noqa: BLE001 - the outermost boundary: no traceback reaches a user
        return _report(issues.INTERNAL.error(problem=f"{type(error).__name__}: {error}"))
    return code


def _collect_from_here() -> None:
    """Begin to look for garbage, if the process has not yet: what there is by now is none, and not looked at again."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _first_of(group: ExceptionGroup[Exception]) -> PrecastError:
    """What a user is told when several tasks failed together: our own error, or that it is a bug."""
    ours = group.subgroup(PrecastError)
    found: Exception = ours or group
    while isinstance(found, ExceptionGroup):
        found = found.exceptions[0]
    if isinstance(found, PrecastError):
        return found
    return issues.INTERNAL.error(problem=f"{type(found).__name__}: {found}")


def _report(error: PrecastError) -> int:
    # With a file the line begins with its name, as editors and compilers have it.
    text = error.render() if error.source is not None else f"precast: {error.render()}"
    try:
        if os.environ.get("PRECAST_DEBUG", "0") not in ("", "0"):
            import traceback  # large, and only for who debugs

            traceback.print_exc()
        print(text, file=sys.stderr)
    except OSError:  # nobody can be told, but there is still the exit code
        discard(sys.stderr)
    return error.consequence.exit_code
