"""`precast env deploy`: makes the code of a directory or git repository the current version of an environment."""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.base.errors import PrecastError
from precast.base.repository_addresses import redact_address
from precast.base.spans import visible
from precast.cli import issues as cli_issues
from precast.cli.code.uploads import UploadResult, upload
from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import print_json
from precast.services.code import git_sources, issues, puppetfile_modules
from precast.services.code.address_policy import OWN_REPOSITORY, PERSONAL
from precast.services.code.file_trees import read_directory
from precast.services.code.git_program import Git
from precast.wire.code.environments import DeployAnswer, DeployBody

# The server reads and checks everything that changed.
TIMEOUT_S = 300.0
ATTEMPTS = 3


def configure(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    summary = "make code the current version of an environment; unchanged code makes no new version"
    parser = commands.add_parser("deploy", help=summary, description=summary)
    add_connection(parser)
    parser.add_argument("environment", metavar="NAME")
    parser.add_argument("--from", dest="directory", metavar="DIR", help="the environment's files")
    parser.add_argument("--git", metavar="REPOSITORY", help="fetch the files from this repository")
    parser.add_argument("--ref", metavar="REF", help="the branch, tag or commit to fetch")
    parser.add_argument(
        "--from-repository", action="store_true", help="let the server fetch and verify what its hooks file names"
    )
    parser.set_defaults(run=_deploy)


class _CodeSource(NamedTuple):
    """Files to deploy, and where they come from."""

    directory: Path
    source: str
    commit: str | None


def _deploy(args: argparse.Namespace) -> int:
    sources = [args.directory is not None, args.git is not None, args.from_repository]
    if sum(sources) != 1 or (args.git is None) is not (args.ref is None):
        raise cli_issues.USAGE.error(
            problem="give --from DIR, or --git REPOSITORY and --ref REF, or --from-repository",
            usage="see `precast env deploy --help`",
        )
    client = connect(args, TIMEOUT_S)
    if args.from_repository:
        return _print_result(args, _deploy_from_repository(client, args.environment), UploadResult(0, 0))
    if args.directory is not None:
        puppetfile_modules.check_modules(Path(args.directory))
        return _print_result(
            args,
            *_deploy_files(client, args.environment, _CodeSource(Path(args.directory), f"from {args.directory}", None)),
        )
    with tempfile.TemporaryDirectory(prefix="precast-") as workspace:
        return _print_result(
            args, *_deploy_files(client, args.environment, _fetch(args.git, args.ref, Path(workspace)))
        )


def _deploy_from_repository(client: Client, environment: str) -> DeployAnswer:
    try:
        return client.ask("POST", f"/v1/environments/{segment(environment)}/deployments", DeployAnswer)
    except PrecastError as error:
        raise _print_findings(error) from None


def _fetch(repository: str, ref: str, workspace: Path) -> _CodeSource:
    if Path(repository).is_dir():
        repository = str(Path(repository).absolute())
    checkout = git_sources.check_out(Git(OWN_REPOSITORY), repository, ref, workspace)
    puppetfile_modules.install_modules(checkout.place, workspace / "modules", Git(PERSONAL))
    return _CodeSource(checkout.place, f"{redact_address(repository)} {ref}", checkout.commit)


def _deploy_files(client: Client, environment: str, code: _CodeSource) -> tuple[DeployAnswer, UploadResult]:
    """Send the content that the server lacks, then request the deploy; retry if content was garbage-collected in between."""
    tree, paths = read_directory(code.directory)
    body = DeployBody(tree.version, code.source, code.commit)
    path = f"/v1/environments/{segment(environment)}/versions"
    for attempts_left in range(ATTEMPTS, 0, -1):
        sent = upload(client, environment, tree, paths)
        try:
            return client.ask("POST", path, DeployAnswer, body), sent
        except PrecastError as error:
            if not issues.MISSING_CONTENT.matches(error) or attempts_left == 1:
                raise _print_findings(error) from None
    raise AssertionError("the last attempt returns or raises")


def _print_findings(error: PrecastError) -> PrecastError:
    """Print the findings about files to standard error line by line, as compilers do; return an error with the first line only."""
    first, *lines = error.message.splitlines()
    if not issues.BROKEN_TREE.matches(error) or not lines:
        return error
    for line in lines:
        print(visible(line), file=sys.stderr)
    return PrecastError.of_kind(error.kind, error.code, first, error.hint)


def _print_result(args: argparse.Namespace, answer: DeployAnswer, sent: UploadResult) -> int:
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
