"""`precast env deploy`: the code in a directory, or of a git repository, becomes an environment's current version."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.base.errors import PrecastError
from precast.base.spans import visible
from precast.cli import issues as cli_issues
from precast.cli.code.uploads import Sent, send
from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import print_json
from precast.services.code import git_sources, issues, puppetfile_modules
from precast.services.code.file_trees import read_directory
from precast.wire.code.environments import DeployAnswer, DeployBody

# The server reads and checks everything that changed.
TIMEOUT_S = 300.0
TRIES = 3


def configure(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    summary = "make code an environment's current version; the same code is no new version"
    parser = commands.add_parser("deploy", help=summary, description=summary)
    add_connection(parser)
    parser.add_argument("environment", metavar="NAME")
    parser.add_argument("--from", dest="place", metavar="DIR", help="the environment's files")
    parser.add_argument("--git", metavar="REPOSITORY", help="fetch them from here")
    parser.add_argument("--ref", metavar="REF", help="the branch, tag or commit to fetch")
    parser.set_defaults(run=_deploy)


class _Found(NamedTuple):
    """Files to deploy, and where they come from."""

    place: Path
    source: str
    commit: str | None


def _deploy(args: argparse.Namespace) -> int:
    if (args.place is None) is (args.git is None) or (args.git is None) is not (args.ref is None):
        raise cli_issues.USAGE.error(
            problem="give --from DIR, or --git REPOSITORY and --ref REF", usage="see `precast env deploy --help`"
        )
    client = connect(args, TIMEOUT_S)
    if args.place is not None:
        puppetfile_modules.check_modules(Path(args.place))
        return _tell(
            args, *_deploy_files(client, args.environment, _Found(Path(args.place), f"from {args.place}", None))
        )
    with tempfile.TemporaryDirectory(prefix="precast-") as room:
        return _tell(args, *_deploy_files(client, args.environment, _fetch(args.git, args.ref, Path(room))))


def _fetch(repository: str, ref: str, room: Path) -> _Found:
    if Path(repository).is_dir():
        repository = str(Path(repository).absolute())
    found = asyncio.run(git_sources.check_out(repository, ref, room))
    puppetfile_modules.install_modules(found.place, room / "modules", is_remote_only=False)
    return _Found(found.place, f"{git_sources.redact_url(repository)} {ref}", found.commit)


def _deploy_files(client: Client, environment: str, found: _Found) -> tuple[DeployAnswer, Sent]:
    """Send what is missing, then ask for the deploy; again if content was collected in between."""
    tree, places = read_directory(found.place)
    body = DeployBody(tree.version, found.source, found.commit)
    path = f"/v1/environments/{segment(environment)}/versions"
    for left in range(TRIES, 0, -1):
        sent = send(client, environment, tree, places)
        try:
            return client.ask("POST", path, DeployAnswer, body), sent
        except PrecastError as error:
            if not issues.MISSING_CONTENT.matches(error) or left == 1:
                raise _told(error) from None
    raise AssertionError("the last try returns or raises")


def _told(error: PrecastError) -> PrecastError:
    """What is wrong with the files goes out line by line, as compilers say it; one line remains."""
    first, *lines = error.message.splitlines()
    if not issues.BROKEN_TREE.matches(error) or not lines:
        return error
    for line in lines:
        print(visible(line), file=sys.stderr)
    return PrecastError.of_kind(error.kind, error.code, first, error.hint)


def _tell(args: argparse.Namespace, answer: DeployAnswer, sent: Sent) -> int:
    for line in answer.warnings:
        print(f"precast: {visible(line)}", file=sys.stderr)
    now = answer.current
    if args.json:
        print_json({**msgspec.to_builtins(answer), "sent_files": sent.files, "sent_bytes": sent.size})
    elif answer.is_new:
        print(f"{now.environment}: version {now.number} ({now.version[:12]}) is current, {answer.files} files")
        print(f"sent {sent.files} contents, {sent.size} bytes; checked {answer.checked} files")
    else:
        print(f"{now.environment}: nothing to do, version {now.number} ({now.version[:12]}) has these files already")
    return 0
