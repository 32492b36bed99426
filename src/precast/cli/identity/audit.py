"""`precast audit`: shows the audit log, checks its chains, exports it, and prints the heads of its chains.

A check computes every hash here, from what the server sends, so that it can run on a machine that the database's administrators do not
have. Heads that were printed earlier show what no chain shows by itself: that its end is missing, or that it was recomputed.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from precast.cli import issues
from precast.cli.console.client import Client, add_connection, connect
from precast.cli.console.output import format_time, print_json
from precast.cli.identity import audit_export
from precast.cli.identity.tokens import add_command, format_pairs, print_rows
from precast.wire.identity.audit import ChainChecker, ChainFault, ChainHead, ChainPage
from precast.wire.identity.bodies import AuditRow

# Before every entry that a database can hold.
BEFORE_ALL = -(10**16)


def configure(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument("--limit", metavar="N", type=int, default=50, help="at most N rows (default: 50)")
    parser.set_defaults(run=_list)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=False)
    verify = add_command(commands, "verify", _verify, "check that no entry was changed, removed or moved")
    verify.add_argument(
        "--heads", metavar="FILE", type=Path, help="also check that the chains contain the heads in this file"
    )
    add_command(commands, "heads", _print_heads, "print the newest entry of each chain, to be kept elsewhere")
    audit_export.configure(add_command(commands, "export", _export, "print all entries, one in a line"))


def _list(args: argparse.Namespace) -> int:
    entries = connect(args).list_pages("/v1/audit", AuditRow, "id", "before", args.limit)
    rows = [(format_time(row.at), row.actor, row.action, row.target, format_pairs(row.detail)) for row in entries]
    return print_rows(args, entries, ["AT", "ACTOR", "ACTION", "TARGET", "DETAIL"], rows)


def _verify(args: argparse.Namespace) -> int:
    exported = _read_heads(args.heads) if args.heads is not None else {}
    client = connect(args)
    chains = sorted({head.chain for head in list_heads(client)} | exported.keys())
    checkers = {chain: ChainChecker(chain, exported.get(chain, {})) for chain in chains}
    faults = [fault for chain in chains if (fault := _check_chain(client, chain, checkers[chain])) is not None]
    if faults:
        raise _describe(faults)
    count = sum(checker.count for checker in checkers.values())
    if args.json:
        print_json({"entries": count, "chains": len(chains), "heads": sum(map(len, exported.values()))})
    else:
        print(f"{count} entries in {len(chains)} {'chain' if len(chains) == 1 else 'chains'} are intact")
    return 0


def _check_chain(client: Client, chain: str, checker: ChainChecker) -> ChainFault | None:
    for page in read_chain(client, chain, BEFORE_ALL):
        fault = checker.check(page.entries)
        if fault is None and page.is_last:
            fault = checker.finish(page.head)
        if fault is not None:
            return fault
    return None


def _describe(faults: list[ChainFault]) -> Exception:
    """The error about the earliest entry that is at fault; a chain that only ends too early comes last."""
    first = min(faults, key=lambda fault: (fault.entry is None, fault.entry.at.timestamp() if fault.entry else 0.0))
    entry = ""
    if first.entry is not None:
        entry = f" ({first.entry.id}, {format_time(first.entry.at)}, {first.entry.actor})"
    more = f"; {len(faults) - 1} more chains are not intact" if len(faults) > 1 else ""
    return issues.AUDIT_BROKEN.error(
        chain=first.chain, sequence=first.sequence, entry=entry, reason=first.reason, more=more
    )


def _print_heads(args: argparse.Namespace) -> int:
    heads = list_heads(connect(args))
    if args.json:
        print_json(msgspec.to_builtins(heads))
    else:
        for head in heads:
            print(head.sequence, head.hash, head.chain)
    return 0


def _read_heads(path: Path) -> dict[str, dict[int, str]]:
    """Read lines of `SEQUENCE HASH CHAIN`, of one or many times; for each chain the hashes by place."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise issues.NO_FILE.error(path=path, reason=reason) from error
    if not text:
        # An export that failed, or that somebody emptied: it would prove nothing.
        raise issues.BAD_HEADS.error(line=1, path=path)
    heads: dict[str, dict[int, str]] = defaultdict(dict)
    for number, line in enumerate(text.splitlines(), start=1):
        sequence, _, rest = line.partition(" ")
        hash_, _, chain = rest.partition(" ")
        if not sequence.isdecimal() or len(hash_) != 64 or not chain:
            raise issues.BAD_HEADS.error(line=number, path=path)
        if heads[chain].setdefault(int(sequence), hash_) != hash_:
            raise issues.BAD_HEADS.error(line=number, path=path)
    return heads


def _export(args: argparse.Namespace) -> int:
    client = connect(args)
    return audit_export.run(args, lambda: list_heads(client), lambda chain, after: read_chain(client, chain, after))


def list_heads(client: Client) -> list[ChainHead]:
    return client.ask("GET", "/v1/audit/heads", list[ChainHead])


def read_chain(client: Client, chain: str, after: int) -> Iterator[ChainPage]:
    """The pages of a chain after a place, up to the last."""
    while True:
        page = client.ask("GET", "/v1/audit/chain", ChainPage, query={"chain": chain, "after": str(after)})
        yield page
        if page.is_last:
            return
        after = page.entries[-1].sequence
