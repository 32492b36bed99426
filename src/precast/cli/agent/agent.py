"""`precast agent`: the commands of a node.

The daemon is one of them and lives long, so modules that only the other commands need are imported when these run.
"""

import argparse
import os
import socket
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from precast.agent.settings import AgentSettings
from precast.base.clock_differences import format_moment
from precast.base.errors import Kind, PrecastError
from precast.base.spans import visible
from precast.cli import issues
from precast.cli.agent import agent_apply
from precast.cli.agent import daemon as agent_daemon
from precast.cli.agent import exec as agent_exec
from precast.cli.agent import network as agent_network
from precast.cli.agent import task as agent_task
from precast.cli.console.files import read_secret
from precast.cli.console.output import print_json
from precast.cli.console.settings import add_settings, load_settings

if TYPE_CHECKING:
    from cryptography import x509

    from precast.agent.facts.collection import Collection
    from precast.agent.identity.enrolment import Identity
    from precast.agent.network.http_client import OpenClient
    from precast.base.digests import Digest

# The pause between two requests for the decision on a certificate request.
FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 30.0


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="[COMMAND]", dest="command")
    agent_daemon.configure(parser, commands)
    agent_apply.configure(commands)
    agent_exec.configure(commands)
    agent_task.configure(commands)
    agent_network.configure(commands)
    enrol = commands.add_parser(
        "enrol",
        help="ask a server for this machine's certificate",
        description="Ask a server for this machine's first certificate.",
    )
    _add_common(enrol)
    token = enrol.add_mutually_exclusive_group()
    token.add_argument(
        "--token-file",
        metavar="FILE",
        help="a file that contains the token and that only you can read; - is standard input",
    )
    token.add_argument(
        "--token",
        metavar="TOKEN",
        help="the token itself, which every user of this machine can read there (default: $PRECAST_ENROL_TOKEN)",
    )
    enrol.add_argument(
        "--name", metavar="NAME", default=socket.getfqdn().lower(), help="default: this machine's full name"
    )
    enrol.add_argument(
        "--ca-fingerprint",
        metavar="SHA256",
        help="without a token: the fingerprint of the authority's certificate; an operator decides on the request",
    )
    enrol.add_argument(
        "--puppet-ssl",
        metavar="DIR",
        type=Path,
        help="authenticate by the certificate of Puppet's agent (`puppet config print ssldir`), if the server has imported its CA",
    )
    enrol.add_argument(
        "--again",
        action="store_true",
        help="replace the certificate that this machine has: nothing of its earlier enrolment is used any more",
    )
    enrol.add_argument(
        "--wait",
        metavar="SECONDS",
        type=int,
        default=0,
        help="how long to wait for the operator (default: 0, do not wait)",
    )
    enrol.set_defaults(run=_enrol)
    renew = commands.add_parser(
        "renew",
        help="request the next certificate with the current one's key",
        description="Renew the certificate before it expires, or soon after.",
    )
    _add_common(renew)
    renew.add_argument("--if-due", action="store_true", help="renew only if two thirds of its lifetime have passed")
    renew.set_defaults(run=_renew)

    send = commands.add_parser(
        "facts", help="collect this machine's facts and send them", description="Collect and send facts without a run."
    )
    _add_common(send, "facts_d", "plugins", "spool_bytes", "spool_records")
    send.add_argument("--spool", action="store_true", help="let the daemon send them as soon as it is connected")
    send.add_argument("--order", metavar="ID", default="", help="the order that this carries out (for the daemon)")
    send.set_defaults(run=_facts)

    fetch = commands.add_parser(
        "fetch",
        help="fetch the catalog that was released to this node, with its file contents and plug-ins",
        description="Fetch and cache the catalog; `precast agent apply` applies it.",
    )
    _add_common(fetch, "fallbacks")
    fetch.set_defaults(run=_fetch)


def _add_common(parser: argparse.ArgumentParser, *names: str) -> None:
    add_settings(parser, AgentSettings, "url", *names)
    agent_daemon.add_root(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _enrol(args: argparse.Namespace) -> int:
    from precast.agent.identity.enrolment import Identity
    from precast.base.digests import parse_fingerprint

    identity = Identity(args.root, _client_opener(load_settings(AgentSettings, args).values))
    token = _find_token(args)
    if args.puppet_ssl:
        certificate = identity.adopt(_url(args), args.puppet_ssl, args.name, again=args.again)
    elif args.ca_fingerprint and not token:
        fingerprint = parse_fingerprint(args.ca_fingerprint)
        if fingerprint is None:
            raise issues.USAGE.error(
                problem=f"--ca-fingerprint {args.ca_fingerprint!r} is not a SHA-256 fingerprint",
                usage="`precast server init` printed it: 64 hexadecimal digits",
            )
        certificate = _await_decision(args, identity, fingerprint)
    elif token or args.token_file is not None:
        certificate = identity.enrol(_url(args), token, args.name, again=args.again)
    else:
        raise issues.NO_TOKEN.error()
    dropped = _discard_earlier_life(args.root)
    if dropped is not None:
        records = f" and {dropped} records that were not sent" if dropped else ""
        print(f"precast: the state of the earlier enrolment is deleted: policy, catalog{records}", file=sys.stderr)
    return _print_certificate(args, f"{args.name} is enrolled", identity, certificate.not_valid_after_utc.isoformat())


def _discard_earlier_life(root: Path) -> int | None:
    """Discard the state of an earlier enrolment now, also if no daemon runs. Returns the number of records that were not sent."""
    from precast.agent.state.store import store_path

    if not store_path(root).exists():
        return None
    with agent_daemon.opened(root, AgentSettings()) as (store, _):
        return store.dropped


def _find_token(args: argparse.Namespace) -> str:
    """The enrolment token from a file, standard input, the command line or the environment; empty if there is none."""
    if args.token_file is not None:
        return read_secret(args.token_file)
    return args.token or os.environ.get("PRECAST_ENROL_TOKEN", "")


def _await_decision(args: argparse.Namespace, identity: "Identity", fingerprint: "Digest") -> "x509.Certificate":
    """Ask until the request is decided or the time is over; prints the first answer, which tells what the operator needs."""
    until_s = time.monotonic() + args.wait
    pause_s, has_printed = FIRST_PAUSE_S, False
    while True:
        try:
            return identity.request(_url(args), fingerprint, args.name, again=args.again)
        except PrecastError as error:
            left_s = until_s - time.monotonic()
            if not error.consequence.retry or left_s <= 0:
                raise
            if not has_printed:
                print(f"precast: waiting {args.wait} s: {error.message} [{error.code}]", file=sys.stderr, flush=True)
            has_printed = True
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)


def _renew(args: argparse.Namespace) -> int:
    from precast.agent.identity.enrolment import Identity

    identity = Identity(args.root, _client_opener(load_settings(AgentSettings, args).values))
    now, certificate = datetime.now(UTC), identity.current()
    # One that begins later was issued while the server's clock was ahead.
    is_due = not args.if_due or identity.due_at() <= now or certificate.not_valid_before_utc > now
    failure = None
    if is_due:
        try:
            certificate = identity.renew(_url(args))
        except PrecastError as error:
            failure = _explain_refusal(error, identity.name(), certificate.not_valid_after_utc, now)
    until = certificate.not_valid_after_utc.isoformat()
    if args.json:
        print_json(
            {
                "certificate": str(identity.certificate),
                "name": identity.name(),
                "not_before": certificate.not_valid_before_utc.isoformat(),
                "not_after": until,
                "due_at": identity.due_at().isoformat(),
                "renewed": is_due and failure is None,
            }
        )
    if failure is not None:
        raise failure
    return 0 if args.json else _print_certificate(args, "renewed" if is_due else "not due", identity, until)


def _explain_refusal(error: PrecastError, name: str, not_after: datetime, now: datetime) -> PrecastError:
    """The error of a renewal, or what to do if servers refuse it because the certificate expired too long ago."""
    from precast.agent import issues as agent_issues
    from precast.agent.identity.expiry import is_beyond_renewal

    if error.kind is not Kind.DENIED or not is_beyond_renewal(not_after, now):
        return error
    return agent_issues.EXPIRED_TOO_LONG.error(name=name, not_after=format_moment(not_after), now=format_moment(now))


def _facts(args: argparse.Namespace) -> int:
    from precast.agent.facts import submission
    from precast.agent.identity.credentials import Credentials
    from precast.agent.state.store import store_path

    settings = load_settings(AgentSettings, args).values
    if args.order:
        return _refresh_facts(args, settings)
    if args.spool:
        collected = _collect(args, settings)
        with agent_daemon.opened(args.root, settings) as (store, spool):
            is_whole = submission.spool_facts(store, spool, collected)
    else:
        # The client is started first: it forks, and a collection has threads.
        with _client_opener(settings)(Credentials(args.root).context()) as client:
            collected = _collect(args, settings)
            is_whole = submission.send_facts(client, _url(args), collected.facts)
        if store_path(args.root).exists():
            with agent_daemon.opened(args.root, settings) as (store, spool):
                submission.note_sent(store, spool, collected)
    if args.json:
        print_json(
            {
                "facts": len(collected.facts),
                "stable_sent": is_whole,
                "warnings": [str(warning) for warning in collected.warnings],
            }
        )
    else:
        verb = "spooled for the daemon" if args.spool else "sent"
        print(f"{verb}: all facts" if is_whole else f"{verb}: the volatile facts; the server has the stable ones")
    return 0


def _refresh_facts(args: argparse.Namespace, settings: AgentSettings) -> int:
    """Collect and spool facts as an order says, and answer it after that."""
    import json

    from precast.agent.applying.lease import lease_held
    from precast.agent.applying.run import describe_holder
    from precast.agent.facts import submission
    from precast.agent.orders.refresh_facts_orders import RefreshFactsOrders
    from precast.agent.orders.work_process import WAIT_S
    from precast.agent.state.wakeup import wake_daemon

    with agent_daemon.opened(args.root, settings) as (store, spool):
        orders = RefreshFactsOrders(store, spool)
        holder = f"the collection of facts {args.order}, {describe_holder(store.clock)}"
        with lease_held(store, holder, WAIT_S):
            orders.begin(args.order)
            try:
                collected = _collect(args, settings)
                submission.spool_facts(store, spool, collected)
            except PrecastError as error:
                orders.end(args.order, is_success=False, message=f"{error.message} [{error.code}]")
                raise
            result = {"facts": len(collected.facts), "warnings": len(collected.warnings)}
            orders.end(args.order, result=json.dumps(result))
        wake_daemon(store.path.parent)
    return 0


def _collect(args: argparse.Namespace, settings: AgentSettings) -> "Collection":
    from precast.agent.catalog.enforcement import trusts_code
    from precast.agent.facts import consent, external, plugins
    from precast.agent.facts.collection import Collector, all_sources
    from precast.cli.facts.facts import machine_at

    sources = all_sources(
        machine_at(args.root),
        [str(path) for path in settings.facts_d] or external.DIRECTORIES,
        [str(path) for path in settings.plugins] or plugins.DIRECTORIES,
        lambda: trusts_code(args.root, datetime.now(UTC), is_noop_configured=settings.noop),
    )
    collected = Collector([*sources, consent.source(settings)]).collect()
    for warning in collected.warnings:
        print(f"precast: warning: {visible(warning.message)} [{warning.code}]", file=sys.stderr)
    return collected


def _client_opener(settings: AgentSettings) -> "OpenClient":
    """How servers are asked: through a network process without privileges."""
    from precast.agent.network.request_process import network_client

    return lambda context: network_client(context, settings.network_user)


def _fetch(args: argparse.Namespace) -> int:
    from precast.agent.catalog.fetch import fetch_and_note
    from precast.agent.identity.credentials import Credentials
    from precast.agent.network.request_process import network_client
    from precast.agent.state.life import read_life
    from precast.agent.state.status_notes import PolicyNote

    settings = load_settings(AgentSettings, args).values
    life = read_life(args.root)  # before the certificate is loaded, which must be of the same life as the store
    context, urls = Credentials(args.root).context(), _urls(settings)
    with (
        network_client(context, settings.network_user) as client,
        agent_daemon.opened(args.root, settings, life) as (store, _),
    ):
        store.write_note(client.note)
        fetched = fetch_and_note(args.root, urls, client, store)
        policy = store.read_note(PolicyNote)
    if policy is not None and policy.trouble:
        print(f"precast: warning: {visible(policy.trouble)}", file=sys.stderr)
    if args.json:
        print_json(fetched._asdict())
    elif fetched.is_new:
        print(
            f"catalog {fetched.digest[:12]} is cached; fetched {fetched.contents} contents and {len(fetched.plugins)} plug-ins"
        )
    else:
        print(f"catalog {fetched.digest[:12]} is already cached")
    return 0


def _url(args: argparse.Namespace) -> str:
    return _urls(load_settings(AgentSettings, args).values)[0]


def _urls(settings: AgentSettings) -> tuple[str, ...]:
    if not settings.urls:
        raise issues.NO_SETTING.error(name="url", variable="PRECAST_URL", file="/etc/precast/agent.toml")
    return settings.urls


def _print_certificate(args: argparse.Namespace, text: str, identity: "Identity", until: str) -> int:
    if args.json:
        print_json({"certificate": str(identity.certificate), "not_after": until})
    else:
        print(f"{text}; its certificate is {identity.certificate}, valid until {until}")
    return 0
