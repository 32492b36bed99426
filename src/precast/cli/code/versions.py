"""`precast env list|show|diff|rollback|policy|approvals|signing`: the current and earlier versions of environments, and how they differ."""

import argparse
import difflib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from precast.base.spans import visible
from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.services.code import issues
from precast.wire.code.environments import (
    DeployAnswer,
    DifferenceAnswer,
    EnvironmentRow,
    EnvironmentView,
    FileChange,
    FileRow,
    ReleasePolicyBody,
    RequiredApprovalsBody,
    VersionRollback,
    VersionRow,
)
from precast.wire.code.signing import SigningBody, SigningView
from precast.wire.exports import ExportsSetting

DIFFERS = 1
# The content of larger files is not printed.
MAX_SHOWN_BYTES = 1024 * 1024

Command = Callable[[argparse.Namespace], int]


EXPORTS = {
    "released": "what is exported by its served catalogs",
    "staged": "what is exported by its staged catalogs",
    "everywhere": "what is exported by the served catalogs of all environments",
}


def configure(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.set_defaults(run=command)
        return added

    add("list", _list, "show environments with their current versions")
    show = add("show", _show, "show an environment and its versions")
    show.add_argument("environment", metavar="NAME")
    diff = add("diff", _differ, "show which files differ between two versions")
    diff.add_argument("environment", metavar="NAME")
    diff.add_argument(
        "before", metavar="NUMBER", nargs="?", type=int, default=0, help="default: the version before the current one"
    )
    diff.add_argument("after", metavar="OTHER", nargs="?", type=int, default=0, help="default: the current version")
    diff.add_argument("--content", action="store_true", help="also show how text files differ")
    declare_exits(diff, {DIFFERS: "the versions differ"})
    back = add("rollback", _roll_back, "make an earlier version current again")
    back.add_argument("environment", metavar="NAME")
    back.add_argument("number", metavar="NUMBER", nargs="?", type=int, default=0, help="default: the previous version")
    back.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
    signing = add("signing", _signing, "show or set what must be signed before it is deployed")
    signing.add_argument("environment", metavar="NAME")
    signing.add_argument("required", metavar="none|commit|tag", nargs="?", choices=["none", "commit", "tag"])
    signing.add_argument("--signers", metavar="FILE", type=Path, help="the allowed-signers file, as of ssh-keygen")
    signing.add_argument("--gpg-keys", metavar="FILE", type=Path, help="public keys that `gpg --armor --export` wrote")
    exports = add("exports", _exports, "show or set which exported resources the nodes of an environment collect")
    exports.add_argument("environment", metavar="NAME")
    exports.add_argument(
        "exports",
        metavar="released|staged|everywhere",
        nargs="?",
        choices=["released", "staged", "everywhere"],
        help="those of the environment's served catalogs (default), of its staged ones, or of served ones everywhere",
    )
    policy = add("policy", _set_policy, "set whether compiled catalogs are released by hand or automatically")
    policy.add_argument("environment", metavar="NAME")
    policy.add_argument("policy", metavar="manual|automatic", choices=["manual", "automatic"])
    approvals = add("approvals", _set_approvals, "set how many other people must approve a release or an action")
    approvals.add_argument("environment", metavar="NAME")
    approvals.add_argument("count", metavar="COUNT", type=int, help="0: no approval is needed")
    approvals.add_argument(
        "--for",
        dest="subject",
        choices=["releases", "actions"],
        default="releases",
        help="what needs the approvals: releases (default), or actions that change nodes",
    )


def _path(args: argparse.Namespace) -> str:
    return f"/v1/environments/{segment(args.environment)}"


def _list(args: argparse.Namespace) -> int:
    rows = connect(args).list_pages("/v1/environments", EnvironmentRow, "name")
    if args.json:
        print_json(msgspec.to_builtins(rows))
        return 0
    print_table(
        ["ENVIRONMENT", "NUMBER", "VERSION", "DEPLOYED", "BY", "SOURCE", "POLICY"],
        [(row.name, *_cells(row.current), row.policy) for row in rows],
    )
    return 0


def _cells(row: VersionRow) -> tuple[object, ...]:
    commit = f" ({row.commit_id[:12]})" if row.commit_id else ""
    signer = f", signed by {visible(row.signer)} {row.signing_key}" if row.signer else ""
    return row.number, row.version[:12], format_time(row.deployed_at), row.deployed_by, row.source + commit + signer


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", _path(args), EnvironmentView)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    print(f"{view.name}: {view.files} files, {view.size} bytes; compiled catalogs are released by policy {view.policy}")
    if view.release_approvals:
        print(_approvals_text("a release", view.release_approvals))
    if view.action_approvals:
        print(_approvals_text("an action that changes nodes", view.action_approvals))
    print()
    rows = [("*" if row.number == view.current.number else "", *_cells(row)) for row in view.versions]
    print_table(["", "NUMBER", "VERSION", "DEPLOYED", "BY", "SOURCE"], rows)
    return 0


def _differ(args: argparse.Namespace) -> int:
    client = connect(args)
    query = {"before": str(args.before), "after": str(args.after)}
    difference = client.ask("GET", f"{_path(args)}/difference", DifferenceAnswer, query=query)
    if args.json:
        print_json(msgspec.to_builtins(difference))
        return DIFFERS if difference.changes else 0
    print(
        f"{args.environment}: version {difference.before.number} to {difference.after.number}, {len(difference.changes)} files differ"
    )
    for change in difference.changes:
        print(f"{_word(change)} {visible(change.path)}")
        if args.content:
            for line in _text_difference(client, _path(args), change):
                print(visible(line))
    return DIFFERS if difference.changes else 0


def _word(change: FileChange) -> str:
    if change.before is None:
        return "added  "
    if change.after is None:
        return "removed"
    return "changed" if change.before.digest != change.after.digest else "mode   "


def _text_difference(client: Client, path: str, change: FileChange) -> Iterator[str]:
    before, after = _read(client, path, change.before), _read(client, path, change.after)
    if before is None or after is None:
        yield "  (not a text file, or too large to print)"
        return
    lines = difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}", lineterm="")
    yield from (f"  {line}" for line in lines)


def _read(client: Client, path: str, file: FileRow | None) -> list[str] | None:
    """The lines of a file, empty if it does not exist; None if it is not a text file or too large."""
    if file is None:
        return []
    if file.size > MAX_SHOWN_BYTES:
        return None
    data = client.fetch_content(f"{path}/content/{file.digest}")
    try:
        return data.decode().splitlines()
    except UnicodeDecodeError:
        return None


def _roll_back(args: argparse.Namespace) -> int:
    body = VersionRollback(args.number, args.why)
    answer = connect(args).ask("POST", f"{_path(args)}/rollbacks", DeployAnswer, body)
    now = answer.current
    if args.json:
        print_json(msgspec.to_builtins(answer))
    elif answer.is_new:
        print(f"{now.environment}: version {now.number} ({now.version[:12]}) is current, {now.source}")
    else:
        print(f"{now.environment}: nothing to do, version {now.number} ({now.version[:12]}) has these files already")
    return 0


def _signing(args: argparse.Namespace) -> int:
    path = f"{_path(args)}/signing"
    if args.required is None:
        view = connect(args).ask("GET", path, SigningView)
    else:
        body = SigningBody(args.required, _text_of(args.signers), _text_of(args.gpg_keys))
        view = connect(args).ask("POST", path, SigningView, body)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    if view.required == "none":
        print(f"{view.environment}: no signature is required")
        return 0
    print(f"{view.environment}: the {view.required} must be signed by an allowed key")
    for line in (*view.signers.splitlines(), *view.gpg_keys.splitlines()):
        print(visible(line))
    return 0


def _text_of(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise issues.CANNOT_READ.error(place=path, reason=getattr(error, "strerror", None) or error) from None


def _set_approvals(args: argparse.Namespace) -> int:
    row = connect(args).ask(
        "POST", f"{_path(args)}/approvals", EnvironmentRow, RequiredApprovalsBody(args.count, args.subject)
    )
    if args.json:
        print_json(msgspec.to_builtins(row))
    else:
        is_action = args.subject == "actions"
        what = "an action that changes nodes" if is_action else "a release"
        print(f"{row.name}: {_approvals_text(what, row.action_approvals if is_action else row.release_approvals)}")
    return 0


def _approvals_text(what: str, count: int) -> str:
    if not count:
        return f"{what} needs no approval"
    return f"{what} needs the approval of {count} other {'person' if count == 1 else 'people'}"


def _exports(args: argparse.Namespace) -> int:
    client, path = connect(args), f"{_path(args)}/exports"
    if args.exports is None:
        setting = client.ask("GET", path, ExportsSetting)
    else:
        setting = client.ask("POST", path, ExportsSetting, ExportsSetting(args.exports))
    if args.json:
        print_json(msgspec.to_builtins(setting))
    else:
        print(f"{args.environment}: its nodes collect {EXPORTS[setting.exports]}")
    return 0


def _set_policy(args: argparse.Namespace) -> int:
    row = connect(args).ask("POST", f"{_path(args)}/policies", EnvironmentRow, ReleasePolicyBody(args.policy))
    if args.json:
        print_json(msgspec.to_builtins(row))
    else:
        print(f"{row.name}: compiled catalogs are released by policy {row.policy}")
    return 0
