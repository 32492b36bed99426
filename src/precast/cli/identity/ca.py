"""`precast ca`: the certificates of nodes, pending certificate requests, and the rotation of the authority, all on the server.

`authority_keys` has the commands that need the authority's own directory.
"""

import argparse

import msgspec

from precast.cli import issues
from precast.cli.console.client import Client, connect, segment
from precast.cli.console.extensions import add_extensions, read_extensions
from precast.cli.console.output import format_time, print_json
from precast.cli.identity import authority_keys
from precast.cli.identity.tokens import (
    add_command,
    add_commands,
    format_pairs,
    print_result,
    print_rows,
)
from precast.wire.identity.bodies import (
    ActionResult,
    AuditReason,
    AuthorityBody,
    CertificateRow,
    RejectBody,
    RequestRow,
    RetireBody,
    RotateBody,
    RotationBody,
    SignBody,
)


def configure(parser: argparse.ArgumentParser) -> None:
    commands = add_commands(parser)
    listing = add_command(commands, "list", _list_certificates, "show all certificates and pending requests")
    listing.add_argument("--pending", action="store_true", help="show only the requests that wait for an operator")
    sign = add_command(commands, "sign", _sign, "sign a pending request")
    reject = add_command(commands, "reject", _reject, "reject a pending request")
    for command_parser in (sign, reject):
        command_parser.add_argument("node", metavar="NODE")
        command_parser.add_argument(
            "--fingerprint",
            metavar="SHA256",
            default="",
            help="the fingerprint of the request's key, as the machine prints it",
        )
    add_extensions(sign)
    reject.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
    for name, command, summary in (
        ("revoke", _revoke, "revoke a node's certificates"),
        ("clean", _clean, "revoke a node's certificates and let its name be enrolled again"),
    ):
        added = add_command(commands, name, command, summary)
        added.add_argument("node", metavar="NODE")
        added.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
    rotate = add_command(commands, "rotate", _rotate, "replace the authority by a new one")
    step = rotate.add_mutually_exclusive_group()
    step.add_argument("--prepare", action="store_true", help="only make nodes trust the new authority")
    step.add_argument(
        "--finish", action="store_true", help="stop trusting the old authority, if it is no longer in use"
    )
    step.add_argument("--status", action="store_true", help="only show the progress")
    rotate.add_argument("--force", action="store_true", help="with --finish: revoke certificates that are still in use")
    add_command(commands, "bundle", _bundle, "print the certificates to trust, as PEM")
    crl = add_command(commands, "crl", _crl, "print the list of revoked certificates (X.509 CRL), as PEM")
    authority_keys.configure(commands)
    crl.add_argument("--text", action="store_true", help="print what it says instead")


def _list_certificates(args: argparse.Namespace) -> int:
    client = connect(args)
    if args.pending:
        return _list_requests(args, client)
    certificates = client.list_pages("/v1/certificates", CertificateRow, "fingerprint")
    rows = [
        (
            row.node,
            row.serial[:16],
            format_time(row.issued_at),
            format_time(row.not_after),
            row.revoked_why or ("superseded" if row.superseded_at else None),
            format_pairs(row.extensions),
        )
        for row in certificates
    ]
    print_rows(args, certificates, ["NODE", "SERIAL", "ISSUED", "UNTIL", "ENDED BY", "EXTENSIONS"], rows)
    if not args.json and (requests := client.list_pages("/v1/requests", RequestRow, "place")):
        print()
        _show_requests(args, requests)
    return 0


def _list_requests(args: argparse.Namespace, client: Client) -> int:
    return _show_requests(args, client.list_pages("/v1/requests", RequestRow, "place"))


def _show_requests(args: argparse.Namespace, requests: list[RequestRow]) -> int:
    rows = [(row.node, row.fingerprint, format_time(row.requested_at), row.address) for row in requests]
    return print_rows(args, requests, ["PENDING", "FINGERPRINT OF THE KEY", "SINCE", "FROM"], rows)


def _sign(args: argparse.Namespace) -> int:
    body = SignBody(args.fingerprint, read_extensions(args))
    result = connect(args).ask("POST", f"/v1/requests/{segment(args.node)}/signature", ActionResult, body)
    return print_result(args, result, f"signed {args.node}: certificate {result.touched[0]}")


def _reject(args: argparse.Namespace) -> int:
    body = RejectBody(args.fingerprint, args.why)
    result = connect(args).ask("POST", f"/v1/requests/{segment(args.node)}/rejection", ActionResult, body)
    return print_result(args, result, f"rejected {args.node}: {_count(result, 'request')}")


def _revoke(args: argparse.Namespace) -> int:
    return _revoke_certificates(args, "revocation", "revoked")


def _clean(args: argparse.Namespace) -> int:
    return _revoke_certificates(args, "cleaning", "cleaned")


def _revoke_certificates(args: argparse.Namespace, operation: str, verb: str) -> int:
    result = connect(args).ask(
        "POST", f"/v1/certificates/{segment(args.node)}/{operation}", ActionResult, AuditReason(args.why)
    )
    return print_result(args, result, f"{verb} {args.node}: {_count(result, 'certificate')}")


def _count(result: ActionResult, noun: str) -> str:
    return f"{len(result.touched)} {noun}{'s' if len(result.touched) != 1 else ''}"


def _rotate(args: argparse.Namespace) -> int:
    client = connect(args)
    if args.force and not args.finish:
        raise issues.USAGE.error(problem="--force is for --finish", usage="see `precast ca rotate --help`")
    if args.status:
        rotation = client.ask("GET", "/v1/authority/rotation", RotationBody)
    elif args.finish:
        rotation = client.ask("POST", "/v1/authority/retirement", RotationBody, RetireBody(args.force))
    else:
        rotation = client.ask("POST", "/v1/authority/rotation", RotationBody, RotateBody(args.prepare))
    if args.json:
        print_json(msgspec.to_builtins(rotation))
    else:
        _print_rotation(rotation)
    return 0


def _print_rotation(rotation: RotationBody) -> None:
    print(f"signs           {rotation.current}")
    for fingerprint in rotation.others:
        print(f"{'will sign' if rotation.is_prepared else 'also trusted'}".ljust(16) + fingerprint)
    if rotation.is_prepared:
        print("next            copy the authority directory to other hosts, if any; then `precast ca rotate`")
    elif rotation.others and rotation.in_use_by:
        print(f"still in use by {', '.join(rotation.in_use_by)}")
        print("next            they renew by themselves; then `precast ca rotate --finish`")
    elif rotation.others:
        print(
            "next            the old one is no longer in use: `precast ca bundle` for people, then `precast ca rotate --finish`"
        )


def _bundle(args: argparse.Namespace) -> int:
    authority = connect(args).ask("GET", "/v1/authority", AuthorityBody)
    if args.json:
        print_json(msgspec.to_builtins(authority))
    else:
        print(authority.certificates, end="")
    return 0


def _crl(args: argparse.Namespace) -> int:
    from cryptography import x509

    pem = connect(args).fetch_content("/v1/crl.pem")
    crl = x509.load_pem_x509_crl(pem)
    if args.json:
        until = None if crl.next_update_utc is None else crl.next_update_utc.isoformat()
        revoked = [{"serial": f"{row.serial_number:x}", "at": row.revocation_date_utc.isoformat()} for row in crl]
        print_json({"pem": pem.decode(), "next_update": until, "revoked": revoked})
    elif args.text:
        rows = [(f"{row.serial_number:x}", format_time(row.revocation_date_utc)) for row in crl]
        print_rows(args, rows, ["SERIAL", "REVOKED"], rows)
    else:
        print(pem.decode(), end="")
    return 0
