"""`precast apply`: brings this machine to what a manifest or a catalog wants. No server needed.

People see what changed and why, as it happens, and a summary; `--json` prints one document with every resource that has something to
say. The language is imported only if there is something to compile.
"""

import argparse
import gc
from pathlib import Path
from typing import TYPE_CHECKING

from precast.agent import issues as agent_issues
from precast.agent.applying.options import Options
from precast.cli import issues
from precast.cli.console.parser import says

if TYPE_CHECKING:
    from collections.abc import Callable

    from precast.agent.applying.runs import Job
    from precast.catalog.body import Body
    from precast.catalog.reading import Unsealed
    from precast.wire.reports.events import Summary

WAITING, CHANGES, FAILURES = 1, 2, 4


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifest", metavar="MANIFEST", nargs="?", help="Puppet code; - for standard input")
    parser.add_argument("-e", "--execute", metavar="CODE", help="apply this code instead of a file")
    parser.add_argument("--catalog", metavar="FILE", help="apply a compiled catalog in JSON, ours or Puppet's")
    _add_inputs(parser)
    add_options(parser)
    parser.add_argument(
        "--state", metavar="DIR", type=Path, help="remember here what earlier runs did, not below the root"
    )
    parser.set_defaults(run=_run)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--environment", metavar="DIR", help="directory with manifests and modules")
    parser.add_argument("--modulepath", metavar="DIRS", help="directories with modules, separated by colons")
    parser.add_argument("--node", metavar="NAME", help="the node's name (default: this machine's)")
    parser.add_argument("--facts", metavar="FILE", help="facts as JSON or YAML (default: this machine's own)")
    parser.add_argument("--strict", action="store_true", help="as Puppet 8: unknown variables and the like are errors")


def add_options(parser: argparse.ArgumentParser) -> None:
    """How a run is done and shown: the same for every command that starts one."""
    parser.add_argument("--noop", action="store_true", help="look and say what would change; change nothing")
    parser.add_argument("--serial", action="store_true", help="check one resource after the other, none ahead")
    parser.add_argument(
        "--ordering",
        choices=("manifest", "graph"),
        default="manifest",
        help="manifest: one after the other as declared; graph: all that relationships allow at the same time",
    )
    parser.add_argument("--at-once", metavar="N", type=int, default=8, help="with graph ordering (default: 8)")
    parser.add_argument("--tags", metavar="TAGS", help="only resources with one of these tags, separated by commas")
    parser.add_argument("--skip-tags", metavar="TAGS", help="no resource with one of these tags")
    parser.add_argument("--ignore-schedules", action="store_true", help="apply also what its schedule would leave out")
    parser.add_argument(
        "--noop-guards",
        choices=("run", "skip"),
        default="run",
        help="in no-op: run the commands that decide about an exec, or take its state as unknown",
    )
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path("/"), help="put every path below DIR")
    parser.add_argument("--chroot", action="store_true", help="DIR is a whole system: run commands inside it")
    parser.add_argument("--wait", metavar="SECONDS", type=float, default=0.0, help="how long to wait for another run")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--no-diff", action="store_true", help="do not show how contents change")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say more; twice: everything")
    parser.add_argument(
        "--detailed-exitcodes", action="store_true", help="2 if something changed, 4 if something failed, 6 if both"
    )
    says(
        parser,
        {
            WAITING: "some resources wait for a value that is not there yet",
            CHANGES: "something changed (with --detailed-exitcodes)",
            FAILURES: "some resources failed, or the run was stopped",
            CHANGES + FAILURES: "something changed and some resources failed (with --detailed-exitcodes)",
        },
    )


def _run(args: argparse.Namespace) -> int:
    sources = [args.manifest, args.execute, args.catalog]
    given = sum(source is not None for source in sources)
    if given > 1 or (given == 0 and args.environment is None):
        raise issues.USAGE.error(
            problem="give one of MANIFEST, --execute CODE, --catalog FILE, --environment DIR",
            usage="precast apply --help",
        )
    check_root(args.root)
    # What is made from here to the plan lives to the end: looking for circles in it again and again is time lost.
    gc.disable()
    job, name = _from_catalog(args) if args.catalog is not None else _from_code(args)
    gc.freeze()
    return run_job(job, args, name)


def run_job(
    job: "Job", args: argparse.Namespace, name: str, ended: "Callable[[Summary], None]" = lambda summary: None
) -> int:
    """Apply, print, and say by the exit code what came of it; `ended` hears of it first."""
    from precast.agent.applying.runs import apply
    from precast.cli.agent.apply_output import Printer

    printer = Printer(name, args)
    summary = apply(job, options_of(args), printer.report, starts=printer.starts)
    ended(summary)
    printer.finish(summary)
    code = CHANGES if summary.has_changes and args.detailed_exitcodes else 0
    if summary.has_failures or not summary.is_complete:
        code += FAILURES
    return WAITING if not code and summary.waiting else code


def options_of(args: argparse.Namespace) -> Options:
    """Raises InputError CLI-001 for what cannot be."""
    if args.at_once < 1:
        raise issues.USAGE.error(problem=f"--at-once {args.at_once} is no number from 1 on", usage="--at-once 8")
    if args.chroot and args.root == Path("/"):
        raise issues.USAGE.error(problem="--chroot needs --root DIR", usage="--root DIR --chroot")
    return Options(
        is_noop=args.noop,
        is_serial=args.serial,
        ordering=args.ordering,
        at_once=args.at_once,
        tags=_words(args.tags),
        skip_tags=_words(args.skip_tags),
        runs_guards=args.noop_guards == "run",
        ignores_schedules=args.ignore_schedules,
    )


def _words(text: str | None) -> frozenset[str]:
    return frozenset(word.strip().lower() for word in (text or "").split(",") if word.strip())


def _from_code(args: argparse.Namespace) -> "tuple[Job, str]":
    from precast.agent.applying.runs import Job
    from precast.cli.compile.local_compile import compile_here
    from precast.cli.compile.local_inputs import contents_of, functions_of

    name = args.node or certname(args.root)
    compiled = compile_here(args, name)
    body = compiled.body
    contents = contents_of(args, body.content, name)
    job = Job(
        body, compiled.places, compiled.version, contents=contents, call=functions_of(args, name), types=compiled.types
    )
    return _placed(job, args), name


def _from_catalog(args: argparse.Namespace) -> "tuple[Job, str]":
    from precast.catalog.reading import unseal
    from precast.cli.console.files import read_bytes

    return job_of(unseal(read_bytes(args.catalog), args.catalog), args)


def job_of(read: "Unsealed", args: argparse.Namespace) -> "tuple[Job, str]":
    """What is to be done with a catalog that somebody compiled, and the name of its node."""
    from precast.agent.applying.runs import Job
    from precast.cli.compile.local_inputs import contents_of, functions_of

    name = args.node or read.name or certname(args.root)
    body = _pinned(_filled(read.body, args, name), args, name)
    contents = contents_of(args, body.content, name)
    job = Job(body, read.places, read.version, contents=contents, call=functions_of(args, name))
    return _placed(job, args), name


def _pinned(body: "Body", args: argparse.Namespace, name: str) -> "Body":
    """The catalog with the digests of its sources: Puppet's have none, and take what the modules hold."""
    if body.content or (args.environment is None and not args.modulepath):
        return body
    import msgspec

    from precast.cli.compile.local_inputs import module_directories, pinned_here

    return msgspec.structs.replace(body, content=pinned_here(body, module_directories(args, name)))


def _placed(job: "Job", args: argparse.Namespace) -> "Job":
    return job._replace(root=args.root.resolve(), is_chroot=args.chroot, wait_s=args.wait, state=args.state)


def _filled(body: "Body", args: argparse.Namespace, name: str) -> "Body":
    """The catalog with its holes filled from this machine's facts, if it has any."""
    from precast.catalog import unknown

    if not any(True for each in body.resources for _ in unknown.holes(each.parameters)):
        return body
    import msgspec

    from precast.cli.compile.compile import finder
    from precast.cli.compile.local_inputs import node_of

    find = finder(node_of(args, name))
    resources = tuple(
        msgspec.structs.replace(each, parameters=unknown.fill(each.parameters, find)) for each in body.resources
    )
    return msgspec.structs.replace(body, resources=resources)


def check_root(root: Path) -> None:
    """Raises NotFoundError FACT-002 if there is no such directory: a typo must not become a new machine."""
    if not root.is_dir():
        raise agent_issues.NO_DIRECTORY.error(path=root, option="--root")


def certname(root: Path) -> str:
    """The name of the machine under a root, from its files: as the fact `networking.fqdn` has it."""
    from precast.agent.facts.groups.network import hostnames
    from precast.agent.facts.machine import Machine, NoKernel

    return str(hostnames(Machine(root, NoKernel())).get("fqdn", "localhost")).lower()
