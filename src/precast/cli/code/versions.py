"""`precast env list|show|diff|rollback|policy`: what is current in environments, what was, and how these differ."""

import argparse
import difflib
from collections.abc import Callable, Iterator

import msgspec

from precast.base.spans import visible
from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.wire.code.environments import (
    DeployAnswer,
    DifferenceAnswer,
    EnvironmentRow,
    EnvironmentView,
    FileChange,
    FileRow,
    ReleasePolicyBody,
    RollbackBody,
    VersionRow,
)

DIFFERS = 1
# Larger files are only named.
MAX_SHOWN_BYTES = 1024 * 1024

Command = Callable[[argparse.Namespace], int]


def configure(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.set_defaults(run=command)
        return added

    add("list", _list, "show environments with what is current in them")
    show = add("show", _show, "show an environment and its versions")
    show.add_argument("environment", metavar="NAME")
    differ = add("diff", _differ, "show which files differ between two versions")
    differ.add_argument("environment", metavar="NAME")
    differ.add_argument("before", metavar="NUMBER", nargs="?", type=int, default=0, help="default: the one before")
    differ.add_argument("after", metavar="OTHER", nargs="?", type=int, default=0, help="default: the current one")
    differ.add_argument("--content", action="store_true", help="also how the texts differ")
    declare_exits(differ, {DIFFERS: "they differ"})
    back = add("rollback", _roll_back, "make an earlier version current again")
    back.add_argument("environment", metavar="NAME")
    back.add_argument("number", metavar="NUMBER", nargs="?", type=int, default=0, help="default: the last other one")
    back.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
    policy = add("policy", _set_policy, "say whether what compiles is released by hand or by itself")
    policy.add_argument("environment", metavar="NAME")
    policy.add_argument("policy", metavar="manual|automatic", choices=["manual", "automatic"])


def _path(args: argparse.Namespace) -> str:
    return f"/v1/environments/{segment(args.environment)}"


def _list(args: argparse.Namespace) -> int:
    found = connect(args).list_pages("/v1/environments", EnvironmentRow, "name")
    if args.json:
        print_json(msgspec.to_builtins(found))
        return 0
    print_table(
        ["ENVIRONMENT", "NUMBER", "VERSION", "DEPLOYED", "BY", "SOURCE", "POLICY"],
        [(one.name, *_cells(one.current), one.policy) for one in found],
    )
    return 0


def _cells(one: VersionRow) -> tuple[object, ...]:
    commit = f" ({one.commit_id[:12]})" if one.commit_id else ""
    return one.number, one.version[:12], format_time(one.deployed_at), one.deployed_by, one.source + commit


def _show(args: argparse.Namespace) -> int:
    found = connect(args).ask("GET", _path(args), EnvironmentView)
    if args.json:
        print_json(msgspec.to_builtins(found))
        return 0
    print(
        f"{found.name}: {found.files} files, {found.size} bytes; what is compiled is released by policy {found.policy}"
    )
    print()
    rows = [("*" if one.number == found.current.number else "", *_cells(one)) for one in found.versions]
    print_table(["", "NUMBER", "VERSION", "DEPLOYED", "BY", "SOURCE"], rows)
    return 0


def _differ(args: argparse.Namespace) -> int:
    client = connect(args)
    query = {"before": str(args.before), "after": str(args.after)}
    found = client.ask("GET", f"{_path(args)}/difference", DifferenceAnswer, query=query)
    if args.json:
        print_json(msgspec.to_builtins(found))
        return DIFFERS if found.changes else 0
    print(
        f"{args.environment}: version {found.before.number} to {found.after.number}, {len(found.changes)} files differ"
    )
    for change in found.changes:
        print(f"{_word(change)} {visible(change.path)}")
        if args.content:
            for line in _text_difference(client, _path(args), change):
                print(visible(line))
    return DIFFERS if found.changes else 0


def _word(change: FileChange) -> str:
    if change.before is None:
        return "added  "
    if change.after is None:
        return "removed"
    return "changed" if change.before.digest != change.after.digest else "mode   "


def _text_difference(client: Client, path: str, change: FileChange) -> Iterator[str]:
    before, after = _read(client, path, change.before), _read(client, path, change.after)
    if before is None or after is None:
        yield "  (no text, or too large to show)"
        return
    lines = difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}", lineterm="")
    yield from (f"  {line}" for line in lines)


def _read(client: Client, path: str, file: FileRow | None) -> list[str] | None:
    """The lines of a file, none if there is no file; None for what is no text."""
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
    body = RollbackBody(args.number, args.why)
    answer = connect(args).ask("POST", f"{_path(args)}/rollbacks", DeployAnswer, body)
    now = answer.current
    if args.json:
        print_json(msgspec.to_builtins(answer))
    elif answer.is_new:
        print(f"{now.environment}: version {now.number} ({now.version[:12]}) is current, {now.source}")
    else:
        print(f"{now.environment}: nothing to do, version {now.number} ({now.version[:12]}) has these files already")
    return 0


def _set_policy(args: argparse.Namespace) -> int:
    found = connect(args).ask("POST", f"{_path(args)}/policies", EnvironmentRow, ReleasePolicyBody(args.policy))
    if args.json:
        print_json(msgspec.to_builtins(found))
    else:
        print(f"{found.name}: what is compiled is released by policy {found.policy}")
    return 0
