"""`precast signer`: serves the socket of the process that has the authority's key, and checks its log."""

import argparse

from precast.app.signer.settings import SignerSettings
from precast.base.errors import PrecastError
from precast.cli.console.output import print_json
from precast.cli.console.settings import add_settings, load_settings


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="[COMMAND]", dest="command")
    summary = "check that nobody has changed the signer's log"
    verify = commands.add_parser("verify-log", help=summary, description=summary)
    add_settings(verify, SignerSettings, "data")
    verify.add_argument("--json", action="store_true", help="print one JSON document")
    verify.set_defaults(run=_verify_log)
    add_settings(parser, SignerSettings)
    # A server passes its own process id to the signer that it starts.
    parser.add_argument("--child", metavar="PID", type=int, default=None, help=argparse.SUPPRESS)
    parser.set_defaults(run=_serve)


def _serve(args: argparse.Namespace) -> int:
    from precast.app.signer.serving import serve_signer

    settings = load_settings(SignerSettings, args).values
    if args.child is None:
        serve_signer(settings, lambda: print(f"signing on {settings.socket}", flush=True))
        return 0
    try:
        serve_signer(settings, lambda: print("ready", flush=True), args.child)
    except PrecastError as error:
        # The server shows the error as its own.
        print(_encode(error), flush=True)
        return error.consequence.exit_code
    return 0


def _encode(error: PrecastError) -> str:
    import msgspec

    from precast.services.identity.signer.messages import Failure

    failure = Failure(error.kind.value, error.code, error.message, error.hint)
    return msgspec.json.encode(failure).decode()


def _verify_log(args: argparse.Namespace) -> int:
    from precast.services.identity.signer.signer_log import verify

    state = verify(load_settings(SignerSettings, args).values.data / "signer" / "log.jsonl")
    if args.json:
        print_json({"lines": state.lines, "head": state.head})
    else:
        print(f"{state.lines} lines, in order; the hash of the last is {state.head}")
    return 0
