"""`precast ca`: certificates of nodes, requests that wait, and the rotation of the authority, asked of the server."""

import argparse

import msgspec

from precast.cli import issues
from precast.cli.console.client import Client, connect, segment
from precast.cli.console.output import format_time, print_json
from precast.cli.identity.tokens import add_command, add_extensions, commands_of, marks, pair, show, tell
from precast.wire.identity.bodies import (
    AuthorityBody,
    CertificateRow,
    AuditReason,
    ActionResult,
    RejectBody,
    RequestRow,
    RetireBody,
    RotateBody,
    RotationBody,
    SignBody,
)


def configure(parser: argparse.ArgumentParser) -> None:
    commands = commands_of(parser)
    listing = add_command(commands, "list", _list_certificates, "show all certificates, and the requests that wait")
    listing.add_argument("--pending", action="store_true", help="only the requests that wait for an operator")
    sign = add_command(commands, "sign", _sign, "give a waiting request its certificate")
    reject = add_command(commands, "reject", _reject, "turn a waiting request down")
    for one in (sign, reject):
        one.add_argument("node", metavar="NODE")
        one.add_argument(
            "--fingerprint", metavar="SHA256", default="", help="of the request's key, as the machine shows it"
        )
    add_extensions(sign)
    reject.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
    for name, command, summary in (
        ("revoke", _revoke, "take a node's certificates back"),
        ("clean", _clean, "take them back and let the name be enrolled anew"),
    ):
        added = add_command(commands, name, command, summary)
        added.add_argument("node", metavar="NODE")
        added.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
    rotate = add_command(commands, "rotate", _rotate, "let a new authority take the place of the present one")
    step = rotate.add_mutually_exclusive_group()
    step.add_argument("--prepare", action="store_true", help="only let it be trusted, for now")
    step.add_argument("--finish", action="store_true", help="trust the new one alone, when nobody uses the old one")
    step.add_argument("--status", action="store_true", help="only say how far it is")
    rotate.add_argument("--force", action="store_true", help="with --finish: take back what is still in use")
    add_command(commands, "bundle", _bundle, "print the certificates to trust, as PEM")


def _list_certificates(args: argparse.Namespace) -> int:
    client = connect(args)
    if args.pending:
        return _list_requests(args, client)
    found = client.list_pages("/v1/certificates", CertificateRow, "serial")
    rows = [
        (
            one.node,
            one.serial[:16],
            format_time(one.issued_at),
            format_time(one.not_after),
            one.revoked_why or ("superseded" if one.superseded_at else None),
            marks(one.extensions),
        )
        for one in found
    ]
    show(args, found, ["NODE", "SERIAL", "ISSUED", "UNTIL", "OVER BY", "EXTENSIONS"], rows)
    if not args.json and (waiting := client.list_pages("/v1/requests", RequestRow, "place")):
        print()
        _show_requests(args, waiting)
    return 0


def _list_requests(args: argparse.Namespace, client: Client) -> int:
    return _show_requests(args, client.list_pages("/v1/requests", RequestRow, "place"))


def _show_requests(args: argparse.Namespace, waiting: list[RequestRow]) -> int:
    rows = [(one.node, one.fingerprint, format_time(one.requested_at), one.address) for one in waiting]
    return show(args, waiting, ["WAITS", "FINGERPRINT OF THE KEY", "SINCE", "FROM"], rows)


def _sign(args: argparse.Namespace) -> int:
    wanted = SignBody(args.fingerprint, dict(map(pair, args.extension)))
    done = connect(args).ask("POST", f"/v1/requests/{segment(args.node)}/signature", ActionResult, wanted)
    return tell(args, done, f"signed {args.node}: certificate {done.touched[0]}")


def _reject(args: argparse.Namespace) -> int:
    wanted = RejectBody(args.fingerprint, args.why)
    done = connect(args).ask("POST", f"/v1/requests/{segment(args.node)}/rejection", ActionResult, wanted)
    return tell(args, done, f"rejected {args.node}: {_count(done, 'request')}")


def _revoke(args: argparse.Namespace) -> int:
    return _take_back(args, "revocation", "revoked")


def _clean(args: argparse.Namespace) -> int:
    return _take_back(args, "cleaning", "cleaned")


def _take_back(args: argparse.Namespace, deed: str, word: str) -> int:
    done = connect(args).ask("POST", f"/v1/certificates/{segment(args.node)}/{deed}", ActionResult, AuditReason(args.why))
    return tell(args, done, f"{word} {args.node}: {_count(done, 'certificate')}")


def _count(done: ActionResult, what: str) -> str:
    return f"{len(done.touched)} {what}{'s' if len(done.touched) != 1 else ''}"


def _rotate(args: argparse.Namespace) -> int:
    client = connect(args)
    if args.force and not args.finish:
        raise issues.USAGE.error(problem="--force is for --finish", usage="see `precast ca rotate --help`")
    if args.status:
        found = client.ask("GET", "/v1/authority/rotation", RotationBody)
    elif args.finish:
        found = client.ask("POST", "/v1/authority/retirement", RotationBody, RetireBody(args.force))
    else:
        found = client.ask("POST", "/v1/authority/rotation", RotationBody, RotateBody(args.prepare))
    if args.json:
        print_json(msgspec.to_builtins(found))
    else:
        _show_rotation(found)
    return 0


def _show_rotation(found: RotationBody) -> None:
    print(f"signs           {found.current}")
    for one in found.others:
        print(f"{'will sign' if found.is_prepared else 'trusted too'}".ljust(16) + one)
    if found.is_prepared:
        print("next            copy the authority directory to other hosts, if any; then `precast ca rotate`")
    elif found.others and found.in_use_by:
        print(f"still in use by {', '.join(found.in_use_by)}")
        print("next            they renew by themselves; then `precast ca rotate --finish`")
    elif found.others:
        print(
            "next            nobody uses the old one: `precast ca bundle` for people, then `precast ca rotate --finish`"
        )


def _bundle(args: argparse.Namespace) -> int:
    found = connect(args).ask("GET", "/v1/authority", AuthorityBody)
    if args.json:
        print_json(msgspec.to_builtins(found))
    else:
        print(found.certificates, end="")
    return 0
