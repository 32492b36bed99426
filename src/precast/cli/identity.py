"""`precast ca`, `token`, `audit`: who is who, asked of the server."""

import argparse
from collections.abc import Callable, Sequence

import msgspec

from precast.cli import issues
from precast.cli.client import Client, add_connection, connect, segment
from precast.cli.output import moment, print_json, print_table
from precast.wire.identity import (
    AuditRow,
    CertificateRow,
    Deed,
    Done,
    NewEnrolmentToken,
    NewPersonToken,
    Rejection,
    RequestRow,
    Signature,
    TokenBody,
    TokenRow,
)

Command = Callable[[argparse.Namespace], int]
HOUR_S = 3600


def configure_ca(parser: argparse.ArgumentParser) -> None:
    commands = _commands(parser)
    listing = _add(commands, "list", _list_certificates, "show all certificates, and the requests that wait")
    listing.add_argument("--pending", action="store_true", help="only the requests that wait for an operator")
    sign = _add(commands, "sign", _sign, "give a waiting request its certificate")
    reject = _add(commands, "reject", _reject, "turn a waiting request down")
    for one in (sign, reject):
        one.add_argument("node", metavar="NODE")
        one.add_argument(
            "--fingerprint", metavar="SHA256", default="", help="of the request's key, as the machine shows it"
        )
    _add_extensions(sign)
    reject.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
    for name, command, summary in (
        ("revoke", _revoke, "take a node's certificates back"),
        ("clean", _clean, "take them back and let the name be enrolled anew"),
    ):
        added = _add(commands, name, command, summary)
        added.add_argument("node", metavar="NODE")
        added.add_argument("--why", metavar="TEXT", default="", help="for the audit log")


def configure_token(parser: argparse.ArgumentParser) -> None:
    commands = _commands(parser)
    enrolment = _add(commands, "enrol", _create_enrolment, "make a token that enrols nodes")
    enrolment.add_argument("pattern", metavar="NAME", help="a node's name, or a glob such as 'web*.example.com'")
    enrolment.add_argument("--uses", metavar="N", type=int, default=1, help="how many nodes it enrols (default: 1)")
    enrolment.add_argument("--hours", metavar="N", type=int, default=1, help="how long it is good (default: 1)")
    _add_extensions(enrolment)
    person = _add(commands, "person", _create_person, "make a token for a person")
    person.add_argument("person", metavar="NAME")
    person.add_argument("--role", required=True, help="viewer, operator, admin or commands")
    person.add_argument(
        "--environment", metavar="NAME", action="append", default=[], help="only for this one; may be repeated"
    )
    person.add_argument("--days", metavar="N", type=int, default=90, help="how long it is good (default: 90)")
    _add(commands, "list", _list_tokens, "show all tokens, without their secrets")
    revoke = _add(commands, "revoke", _revoke_token, "end a token")
    revoke.add_argument("id", metavar="ID")


def configure_audit(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument("--limit", metavar="N", type=int, default=50, help="how many at most (default: 50)")
    parser.set_defaults(run=_audit)


def _add_extensions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--extension",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="goes into the certificate, as pp_role=web",
    )


def _commands(parser: argparse.ArgumentParser) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    return parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, command: Command, summary: str
) -> argparse.ArgumentParser:
    added = commands.add_parser(name, help=summary, description=summary)
    add_connection(added)
    added.set_defaults(run=command)
    return added


def _list_certificates(args: argparse.Namespace) -> int:
    client = connect(args)
    if args.pending:
        return _list_requests(args, client)
    found = client.pages("/v1/certificates", CertificateRow, "serial")
    rows = [
        (
            one.node,
            one.serial[:16],
            moment(one.issued_at),
            moment(one.not_after),
            one.revoked_why or ("superseded" if one.superseded_at else None),
            _marks(one.extensions),
        )
        for one in found
    ]
    _show(args, found, ["NODE", "SERIAL", "ISSUED", "UNTIL", "OVER BY", "EXTENSIONS"], rows)
    if not args.json and (waiting := client.pages("/v1/requests", RequestRow, "place")):
        print()
        _show_requests(args, waiting)
    return 0


def _list_requests(args: argparse.Namespace, client: Client) -> int:
    return _show_requests(args, client.pages("/v1/requests", RequestRow, "place"))


def _show_requests(args: argparse.Namespace, waiting: list[RequestRow]) -> int:
    rows = [(one.node, one.fingerprint, moment(one.requested_at), one.address) for one in waiting]
    return _show(args, waiting, ["WAITS", "FINGERPRINT OF THE KEY", "SINCE", "FROM"], rows)


def _sign(args: argparse.Namespace) -> int:
    wanted = Signature(args.fingerprint, dict(map(_pair, args.extension)))
    done = connect(args).ask("POST", f"/v1/requests/{segment(args.node)}/signature", Done, wanted)
    return _tell(args, done, f"signed {args.node}: certificate {done.touched[0]}")


def _reject(args: argparse.Namespace) -> int:
    wanted = Rejection(args.fingerprint, args.why)
    done = connect(args).ask("POST", f"/v1/requests/{segment(args.node)}/rejection", Done, wanted)
    return _tell(args, done, f"rejected {args.node}: {_count(done, 'request')}")


def _revoke(args: argparse.Namespace) -> int:
    return _take_back(args, "revocation", "revoked")


def _clean(args: argparse.Namespace) -> int:
    return _take_back(args, "cleaning", "cleaned")


def _take_back(args: argparse.Namespace, deed: str, word: str) -> int:
    done = connect(args).ask("POST", f"/v1/certificates/{segment(args.node)}/{deed}", Done, Deed(args.why))
    return _tell(args, done, f"{word} {args.node}: {_count(done, 'certificate')}")


def _count(done: Done, what: str) -> str:
    return f"{len(done.touched)} {what}{'s' if len(done.touched) != 1 else ''}"


def _tell(args: argparse.Namespace, done: Done, text: str) -> int:
    if args.json:
        print_json(msgspec.to_builtins(done))
    else:
        print(text)
    return 0


def _create_enrolment(args: argparse.Namespace) -> int:
    wanted = NewEnrolmentToken(args.pattern, dict(map(_pair, args.extension)), args.uses, args.hours * HOUR_S)
    return _show_token(args, connect(args).ask("POST", "/v1/tokens/enrolment", TokenBody, wanted))


def _create_person(args: argparse.Namespace) -> int:
    wanted = NewPersonToken(args.person, args.role, args.environment, args.days * 24 * HOUR_S)
    return _show_token(args, connect(args).ask("POST", "/v1/tokens/person", TokenBody, wanted))


def _show_token(args: argparse.Namespace, made: TokenBody) -> int:
    if args.json:
        print_json(msgspec.to_builtins(made))
    else:
        print(made.token)
    return 0


def _list_tokens(args: argparse.Namespace) -> int:
    tokens = connect(args).ask("GET", "/v1/tokens", list[TokenRow])
    rows = [
        (one.id, one.sort, one.subject, one.allows, moment(one.expires_at), "good" if one.is_good else "over")
        for one in tokens
    ]
    return _show(args, tokens, ["ID", "SORT", "FOR", "ALLOWS", "EXPIRES", "STATE"], rows)


def _revoke_token(args: argparse.Namespace) -> int:
    done = connect(args).ask("DELETE", f"/v1/tokens/{segment(args.id)}", Done)
    return _tell(args, done, f"revoked {args.id}")


def _audit(args: argparse.Namespace) -> int:
    entries = connect(args).pages("/v1/audit", AuditRow, "id", "before", args.limit)
    rows = [(moment(one.at), one.actor, one.action, one.target, _marks(one.detail)) for one in entries]
    return _show(args, entries, ["AT", "WHO", "WHAT", "TO", "DETAIL"], rows)


def _show(args: argparse.Namespace, found: object, heads: list[str], rows: Sequence[Sequence[object]]) -> int:
    if args.json:
        print_json(msgspec.to_builtins(found))
    else:
        print_table(heads, rows)
    return 0


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise issues.USAGE.error(
            problem=f"--extension {text!r} is not NAME=VALUE", usage="as in --extension pp_role=web"
        )
    return name, value


def _marks(values: dict[str, object] | dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(values.items()))
