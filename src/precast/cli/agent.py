"""`precast agent`: this machine as a node."""

import argparse
import os
import socket
from pathlib import Path

from precast.agent import submission
from precast.agent.enrolment import Identity
from precast.agent.facts.collection import Collector, all_sources
from precast.agent.settings import AgentSettings
from precast.cli import issues
from precast.cli.facts import machine_at
from precast.cli.output import print_json
from precast.cli.settings import add_settings, load_settings


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    enrol = commands.add_parser(
        "enrol", help="ask a server for this machine's certificate", description="Once for a machine."
    )
    _add_common(enrol)
    enrol.add_argument(
        "--token", metavar="TOKEN", default=os.environ.get("PRECAST_ENROL_TOKEN"), help="default: $PRECAST_ENROL_TOKEN"
    )
    enrol.add_argument(
        "--name", metavar="NAME", default=socket.getfqdn().lower(), help="default: this machine's full name"
    )
    enrol.set_defaults(run=_enrol)
    renew = commands.add_parser(
        "renew",
        help="ask for the next certificate, by proof of the last one's key",
        description="Before it ends, or soon after.",
    )
    _add_common(renew)
    renew.set_defaults(run=_renew)

    send = commands.add_parser("facts", help="collect this machine's facts and send them", description="Without a run.")
    _add_common(send)
    send.set_defaults(run=_facts)


def _add_common(parser: argparse.ArgumentParser) -> None:
    add_settings(parser, AgentSettings, "url")
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path("/"), help="put every path below DIR")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _enrol(args: argparse.Namespace) -> int:
    if not args.token:
        raise issues.NO_SETTING.error(name="token", variable="PRECAST_ENROL_TOKEN", file="the flag --token")
    identity = Identity(args.root)
    certificate = identity.enrol(_url(args), args.token, args.name)
    return _tell(args, f"{args.name} is enrolled", identity, certificate.not_valid_after_utc.isoformat())


def _renew(args: argparse.Namespace) -> int:
    identity = Identity(args.root)
    certificate = identity.renew(_url(args))
    return _tell(args, "renewed", identity, certificate.not_valid_after_utc.isoformat())


def _facts(args: argparse.Namespace) -> int:
    collected = Collector(all_sources(machine_at(args.root))).collect()
    was_new = submission.send(Identity(args.root), _url(args), collected.facts)
    if args.json:
        print_json(
            {
                "facts": len(collected.facts),
                "stable_sent": was_new,
                "warnings": [str(one) for one in collected.warnings],
            }
        )
    else:
        print("sent all facts" if was_new else "sent what changes by nature; the rest is known there")
    return 0


def _url(args: argparse.Namespace) -> str:
    url = load_settings(AgentSettings, args).values.url
    if not url:
        raise issues.NO_SETTING.error(name="url", variable="PRECAST_URL", file="/etc/precast/agent.toml")
    return url


def _tell(args: argparse.Namespace, what: str, identity: Identity, until: str) -> int:
    if args.json:
        print_json({"certificate": str(identity.certificate), "not_after": until})
    else:
        print(f"{what}; its certificate is {identity.certificate}, good until {until}")
    return 0
