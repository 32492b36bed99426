"""`precast apply`: brings this machine to the desired state of a manifest or a catalog, without a server.

It prints each change with its reason as it happens, and a summary; `--json` prints one document with every resource that has an event
or a log line. The language is imported only if there is code to compile.
"""

import argparse
import gc
from pathlib import Path
from typing import TYPE_CHECKING

from precast.agent import issues as agent_issues
from precast.agent.applying.options import RunOptions
from precast.cli import issues
from precast.cli.console.exports import add_exports
from precast.cli.console.extensions import add_extensions
from precast.cli.console.parser import declare_exits

if TYPE_CHECKING:
    from precast.agent.applying.run import RunRequest
    from precast.catalog.body import Body
    from precast.catalog.document import CatalogDocument

WAITING, CHANGES, FAILURES = 1, 2, 4


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifest", metavar="MANIFEST", nargs="?", help="Puppet code; - for standard input")
    parser.add_argument("-e", "--execute", metavar="CODE", help="apply this code instead of a file")
    parser.add_argument("--catalog", metavar="FILE", help="apply a compiled catalog in JSON, ours or Puppet's")
    _add_inputs(parser)
    add_options(parser)
    parser.add_argument(
        "--state", metavar="DIR", type=Path, help="store the state of earlier runs in DIR instead of below the root"
    )
    parser.set_defaults(run=_run)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--environment", metavar="DIR", help="directory with manifests and modules")
    parser.add_argument("--modulepath", metavar="DIRS", help="directories with modules, separated by colons")
    parser.add_argument("--node", metavar="NAME", help="the node's name (default: this machine's)")
    parser.add_argument("--facts", metavar="FILE", help="facts as JSON or YAML (default: this machine's own)")
    add_exports(parser)
    add_extensions(parser, "the node's certificate")
    parser.add_argument(
        "--strict", action="store_true", help="as Puppet 8: unknown variables and similar mistakes are errors"
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command shares that starts a run."""
    parser.add_argument("--noop", action="store_true", help="make no changes, report pending ones (no-op)")
    parser.add_argument("--serial", action="store_true", help="check one resource after the other, none ahead of time")
    parser.add_argument(
        "--ordering",
        choices=("manifest", "graph"),
        default="manifest",
        help="manifest: one after the other as declared; graph: as many at the same time as relationships allow",
    )
    parser.add_argument(
        "--at-once",
        metavar="N",
        type=int,
        default=8,
        help="apply at most N resources at the same time with --ordering graph (default: 8)",
    )
    parser.add_argument("--tags", metavar="TAGS", help="apply only resources with one of these tags (comma-separated)")
    parser.add_argument("--skip-tags", metavar="TAGS", help="skip resources with one of these tags (comma-separated)")
    parser.add_argument(
        "--ignore-schedules", action="store_true", help="also apply resources that their schedule would skip"
    )
    parser.add_argument(
        "--noop-guards",
        choices=("run", "skip"),
        default="run",
        help="in no-op: run the commands that decide whether an exec runs, or treat its state as unknown",
    )
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path("/"), help="put every path below DIR")
    parser.add_argument("--chroot", action="store_true", help="run commands inside DIR, which is a complete system")
    parser.add_argument(
        "--wait", metavar="SECONDS", type=float, default=0.0, help="how long to wait until another run has ended"
    )
    parser.set_defaults(is_look_only=False)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--no-diff", action="store_true", help="do not print differences of file contents")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="print more; twice: everything")
    parser.add_argument(
        "--detailed-exitcodes",
        action="store_true",
        help="exit with 2 if something changed, 4 if something failed, 6 if both",
    )
    declare_exits(
        parser,
        {
            WAITING: "some resources wait for a value that does not exist yet",
            CHANGES: "something changed (with --detailed-exitcodes)",
            FAILURES: "some resources failed, or the run was stopped",
            CHANGES + FAILURES: "something changed and some resources failed (with --detailed-exitcodes)",
        },
    )


def _run(args: argparse.Namespace) -> int:
    sources = [args.manifest, args.execute, args.catalog]
    given_count = sum(source is not None for source in sources)
    if given_count > 1 or (given_count == 0 and args.environment is None):
        raise issues.USAGE.error(
            problem="give one of MANIFEST, --execute CODE, --catalog FILE, --environment DIR",
            usage="precast apply --help",
        )
    check_root(args.root)
    # The objects made from here to the plan live until the end, so searching them for reference cycles would waste time.
    gc.disable()
    request, name = _request_from_catalog(args) if args.catalog is not None else _request_from_code(args)
    gc.freeze()
    return apply_and_print(request, args, name)


def apply_and_print(request: "RunRequest", args: argparse.Namespace, name: str) -> int:
    """Apply a catalog, print the summary, and return the exit code."""
    from precast.agent.applying.run import apply
    from precast.cli.agent.apply_output import Printer

    printer = Printer(name, args)
    summary = apply(request, options_of(args), printer.report, on_start=printer.show_resource)
    printer.finish(summary)
    code = CHANGES if summary.has_changes and args.detailed_exitcodes else 0
    if summary.has_failures or not summary.is_complete:
        code += FAILURES
    return WAITING if not code and summary.waiting else code


def options_of(args: argparse.Namespace) -> RunOptions:
    """The options of a run. Raises InputError CLI-001 if they contradict each other or are out of range."""
    if args.at_once < 1:
        raise issues.USAGE.error(problem=f"--at-once {args.at_once} is not a number of at least 1", usage="--at-once 8")
    if args.chroot and args.root == Path("/"):
        raise issues.USAGE.error(problem="--chroot needs --root DIR", usage="--root DIR --chroot")
    return RunOptions(
        is_noop=args.noop,
        is_serial=args.serial,
        ordering=args.ordering,
        at_once=args.at_once,
        tags=_words(args.tags),
        skip_tags=_words(args.skip_tags),
        runs_guards=args.noop_guards == "run",
        ignores_schedules=args.ignore_schedules,
        is_look_only=args.is_look_only,
    )


def _words(text: str | None) -> frozenset[str]:
    return frozenset(word.strip().lower() for word in (text or "").split(",") if word.strip())


def _request_from_code(args: argparse.Namespace) -> "tuple[RunRequest, str]":
    from precast.agent.applying.run import RunRequest
    from precast.cli.compile.local_compile import compile_here
    from precast.cli.compile.local_inputs import contents_of, functions_of

    name = args.node or certname(args.root)
    compiled = compile_here(args, name)
    body = compiled.body
    contents = contents_of(args, body.content, name)
    request = RunRequest(
        body, compiled.places, compiled.version, contents=contents, call=functions_of(args, name), types=compiled.types
    )
    return _with_root(request, args), name


def _request_from_catalog(args: argparse.Namespace) -> "tuple[RunRequest, str]":
    from precast.catalog.document import unseal
    from precast.cli.console.files import read_bytes

    return build_request(unseal(read_bytes(args.catalog), args.catalog), args)


def build_request(document: "CatalogDocument", args: argparse.Namespace) -> "tuple[RunRequest, str]":
    """The request to apply a compiled catalog, and the name of its node."""
    from precast.agent.applying.run import RunRequest
    from precast.cli.compile.local_inputs import contents_of, functions_of

    name = args.node or document.name or certname(args.root)
    body = _pin_contents(_fill_holes(document.body, args, name), args, name)
    contents = contents_of(args, body.content, name)
    request = RunRequest(body, document.places, document.version, contents=contents, call=functions_of(args, name))
    return _with_root(request, args), name


def _pin_contents(body: "Body", args: argparse.Namespace, name: str) -> "Body":
    """The catalog with the digests of its sources. Puppet's catalogs have none, so the local modules provide them."""
    if body.content or (args.environment is None and not args.modulepath):
        return body
    import msgspec

    from precast.cli.compile.local_inputs import module_directories, pin_local_sources

    return msgspec.structs.replace(body, content=pin_local_sources(body, module_directories(args, name)))


def _with_root(request: "RunRequest", args: argparse.Namespace) -> "RunRequest":
    return request._replace(root=args.root.resolve(), is_chroot=args.chroot, wait_s=args.wait, state=args.state)


def _fill_holes(body: "Body", args: argparse.Namespace, name: str) -> "Body":
    """The catalog with its holes, if it has any, filled from this machine's facts."""
    from precast.catalog import unknown

    if not any(True for resource in body.resources for _ in unknown.holes(resource.parameters)):
        return body
    import msgspec

    from precast.cli.compile.compile import finder
    from precast.cli.compile.local_inputs import node_of

    find = finder(node_of(args, name))
    resources = tuple(
        msgspec.structs.replace(resource, parameters=unknown.fill(resource.parameters, find))
        for resource in body.resources
    )
    return msgspec.structs.replace(body, resources=resources)


def check_root(root: Path) -> None:
    """Raises NotFoundError FACT-002 if the directory does not exist, so that a typo does not create a new root."""
    if not root.is_dir():
        raise agent_issues.NO_DIRECTORY.error(path=root, option="--root")


def certname(root: Path) -> str:
    """The name of the machine under a root, read from its files: the value of the fact `networking.fqdn`."""
    from precast.agent.facts.groups.network import hostnames
    from precast.agent.facts.machine import Machine, NoKernel

    return str(hostnames(Machine(root, NoKernel())).get("fqdn", "localhost")).lower()
