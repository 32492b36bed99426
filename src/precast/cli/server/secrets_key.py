"""`precast server secrets-key`: rotates the master key of secrets on the server itself, or gives up secrets whose key is lost."""

import argparse
import asyncio
import secrets
from typing import Any

from precast.app.settings import ServerSettings
from precast.cli.console.output import print_json
from precast.cli.console.settings import add_settings, load_settings
from precast.cli.server.database import opened_at
from precast.services.secrets import issues
from precast.services.secrets.key_source import KeyFile
from precast.services.secrets.keys import MasterKey
from precast.store.engine import location
from precast.store.schema.schema import Schema
from precast.store.secrets.keys import SecretKeys


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the group to the commands of `precast server`."""
    summary = "rotate the key of secrets, or give up secrets whose key is lost"
    group = commands.add_parser("secrets-key", help=summary, description=summary)
    actions = group.add_subparsers(title="commands", metavar="COMMAND", dest="action", required=True)
    for name, run, text in (
        ("rotate", _rotate, "put a new key first into the key file; servers use it when all of them have the file"),
        ("prune", _prune, "remove keys from the key file that open nothing any more"),
        (
            "discard",
            _discard,
            "delete all secrets, because their key is lost; catalogs are compiled again with a new one",
        ),
    ):
        parser = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        add_settings(parser, ServerSettings, "data", "database", "secrets_key")
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        parser.set_defaults(run=run)
        if name == "discard":
            parser.add_argument(
                "--all-secrets",
                action="store_true",
                required=True,
                help="say that the values of all secrets are given up",
            )


def _rotate(args: argparse.Namespace) -> int:
    file, keys = _read(load_settings(ServerSettings, args).values)
    new = MasterKey.new(secrets)
    file.replace([new, *keys])
    if args.json:
        print_json({"file": str(file.path), "key": new.id, "before": [key.id for key in keys]})
        return 0
    print(f"{file.path}: the new secrets key is {new.id}")
    print(
        "If the site has several servers, copy the file to all of them now. They begin to use the new key when all have it:"
    )
    print("  precast secrets status")
    return 0


def _prune(args: argparse.Namespace) -> int:
    settings = load_settings(ServerSettings, args).values
    file, keys = _read(settings)
    used = asyncio.run(_find_used(settings))
    kept = [key for at, key in enumerate(keys) if at == 0 or key.id in used]
    removed = [key.id for key in keys if key not in kept]
    if removed:
        file.replace(kept)
    if args.json:
        print_json({"file": str(file.path), "kept": [key.id for key in kept], "removed": removed})
        return 0
    print(f"{file.path}: removed {', '.join(removed) or 'nothing'}, kept {', '.join(key.id for key in kept)}")
    return 0


def _discard(args: argparse.Namespace) -> int:
    from precast.app.secrets.views import discard_secrets

    counts = asyncio.run(discard_secrets(load_settings(ServerSettings, args).values))
    if args.json:
        print_json({"discarded": counts})
        return 0
    print(f"discarded {sum(counts.values())} secrets. Start the servers: they make a new key if there is no key file,")
    print("and compile all catalogs again. Release these; until then nodes go on with the secrets that they have.")
    return 0


def _read(settings: ServerSettings) -> tuple[KeyFile, tuple[MasterKey, ...]]:
    """The key file with its keys. Raises InputError SECRET-008 if a command gives them, UnavailableError SECRET-002."""
    if settings.secrets_key_command:
        raise issues.KEYS_FROM_COMMAND.error(source="the command of secrets_key_command")
    file = KeyFile(settings.secrets_key_file)
    keys = file.read()
    if keys is None:
        raise issues.KEYS_UNREADABLE.error(source=file, reason="there is no such file")
    return file, keys


async def _find_used(settings: ServerSettings) -> set[str]:
    """The ids of the master keys that the database needs."""
    async with opened_at(location.parse(settings.location)) as database:
        await Schema(database).verify()
        return {key.master for key in await database.read(SecretKeys(database).list_all)}
