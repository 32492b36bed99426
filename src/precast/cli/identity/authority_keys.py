"""`precast ca encrypt`, `decrypt`, `request`, `install`: the authority's own keys, by a user who may read its directory."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from precast.app.signer.settings import SignerSettings
from precast.base.clock import SystemClock
from precast.cli.console.output import print_json
from precast.cli.console.settings import add_settings, load_settings

if TYPE_CHECKING:
    from precast.services.identity.authority_files import AuthorityFiles

_LOCAL = "It reads the authority's directory, so it runs as the user of the signer."


def configure(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    _add(commands, "encrypt", _encrypt, "encrypt the authority's keys at rest by a passphrase")
    _add(commands, "decrypt", _decrypt, "store the authority's keys without encryption again")
    _add(commands, "request", _request, "print a request with which an offline root signs this authority")
    install = _add(commands, "install", _install, "use the certificate that an offline root has signed")
    install.add_argument("chain", metavar="CHAIN", type=Path, help="the certificate and those above it, as PEM")


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}. {_LOCAL}")
    add_settings(parser, SignerSettings, "data", "passphrase_file", "key_command")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)
    return parser


def _files(args: argparse.Namespace) -> "AuthorityFiles":
    from precast.app.signer.serving import authority_files

    return authority_files(load_settings(SignerSettings, args).values)


def _encrypt(args: argparse.Namespace) -> int:
    from precast.services.identity import issues
    from precast.services.identity.signer.passphrase import find_passphrase

    settings, files = load_settings(SignerSettings, args).values, _files(args)
    if files.needs_passphrase:
        raise issues.IS_ENCRYPTED.error(place=files.directory, state="encrypted already")
    files.load()
    passphrase = find_passphrase(settings.passphrase_file, settings.key_command, may_ask=True, asks_twice=True)
    if passphrase is None:
        raise issues.NO_PASSPHRASE.error(path=files.directory)
    with files.locked():
        files.encrypt(passphrase)
    return _report(args, files, "the keys are encrypted; the signer needs the passphrase when it starts")


def _decrypt(args: argparse.Namespace) -> int:
    from precast.services.identity import issues

    files = _files(args)
    files.load()
    if not files.is_encrypted:
        raise issues.IS_ENCRYPTED.error(place=files.directory, state="not encrypted")
    with files.locked():
        files.encrypt(None)
    return _report(args, files, "the keys are not encrypted any more")


def _report(args: argparse.Namespace, files: "AuthorityFiles", text: str) -> int:
    if args.json:
        print_json({"is_encrypted": files.is_encrypted})
    else:
        print(text)
    return 0


def _request(args: argparse.Namespace) -> int:
    from precast.services.identity.intermediate import make_request

    pem = make_request(_files(args).load())
    if args.json:
        print_json({"request": pem})
    else:
        print(pem, end="")
    return 0


def _install(args: argparse.Namespace) -> int:
    from precast.services.identity.intermediate import install

    authority = install(_files(args), args.chain, SystemClock().now())
    if args.json:
        print_json({"fingerprint": authority.fingerprint})
        return 0
    print(f"signs           {authority.fingerprint}")
    print(
        "next            `precast ca bundle` for people; `precast ca rotate --finish` when no node needs the old certificate"
    )
    return 0
