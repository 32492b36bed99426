"""`precast db backup`, `restore` and `keygen`: the database and the keys of a site in one file, and back."""

import argparse
import contextlib
import math
import os
import secrets
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from precast.app.settings import ServerSettings
from precast.app.signer.settings import SignerSettings
from precast.base.encryption.keys import Identity, Lock, Opener, Passphrase, Recipients
from precast.base.files import new_file
from precast.base.settings import load
from precast.cli.console.output import print_json
from precast.cli.console.settings import load_settings
from precast.cli.server.database import new_if_missing, opened_at
from precast.services.identity import issues as identity_issues
from precast.services.identity.signer.key_backup import KeyFiles, KeyPlace, owner_of
from precast.services.identity.signer.passphrase import find_passphrase
from precast.services.secrets import issues as secret_issues
from precast.services.secrets.key_backup import KeyFilesWithSecrets, KeyPlaceWithSecrets
from precast.services.secrets.key_source import KeyFile
from precast.store import issues
from precast.store.engine import location
from precast.store.engine.location import Location, SqliteLocation
from precast.store.identity.authorities import Authorities
from precast.store.schema import backup
from precast.store.schema.backup_format import is_encrypted
from precast.store.schema.schema import Schema

PROMPT = "Passphrase of the backup: "


def add_backup_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument(
        "--recipient",
        metavar="KEY",
        action="append",
        default=[],
        help="encrypt to the owner of this public key, age1…; may be repeated",
    )
    _add_passphrase(parser)
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument(
        "--without-keys", action="store_true", help="leave the keys of the site out; such a file need not be encrypted"
    )
    parts.add_argument(
        "--with-secrets-key",
        action="store_true",
        help="put the secrets key in too: whoever opens such a file can read every secret of the site",
    )


def add_restore_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument(
        "--identity", metavar="FILE", type=Path, help="decrypt with the private key in this file (0600)"
    )
    _add_passphrase(parser)
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--without-keys", action="store_true", help="restore only the database")
    parts.add_argument("--only-keys", action="store_true", help="restore only the keys of the site")


def _add_passphrase(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--passphrase-file", metavar="FILE", type=Path, help="a file (0600) with the passphrase")
    parser.add_argument("--passphrase-command", metavar="COMMAND", default="", help="a command that prints it")


async def back_up(args: argparse.Namespace) -> int:
    settings = load_settings(ServerSettings, args).values
    async with opened_at(at := location.parse(settings.location)) as database:
        keys: backup.Keys | None = None
        if not args.without_keys:
            await Schema(database).verify()
            # A database without an authority belongs to no site yet, so there are no keys.
            if known := await database.read(Authorities(database).list):
                files = KeyFiles(_keys_place(settings))
                files.refuse_other_site(database.location, known)
                keys = files
                if args.with_secrets_key and settings.secrets_key_command:
                    raise secret_issues.KEYS_FROM_COMMAND.error(source="the command of secrets_key_command")
                if args.with_secrets_key:
                    keys = KeyFilesWithSecrets(files, KeyFile(settings.secrets_key_file))
        lock = _find_lock(args, is_needed=keys is not None)
        content = await backup.take(database, args.file, lock, keys, _database_owner(at, settings))
    size_bytes, is_encrypted = args.file.stat().st_size, lock is not None
    if args.json:
        print_json({**_as_json(content), "bytes": size_bytes, "is_encrypted": is_encrypted})
    else:
        state = "encrypted" if is_encrypted else "not encrypted"
        print(f"{args.file}: {_summarise(content)}, {_format_size(size_bytes)}, {state}")
    return 0


async def restore(args: argparse.Namespace) -> int:
    settings = load_settings(ServerSettings, args).values
    opener, target = _find_opener(args), location.parse(settings.location)
    key_place = KeyPlace(_keys_place(settings), takes_keys=not args.without_keys)
    place = KeyPlaceWithSecrets(key_place, settings.secrets_key_file)
    restored_into: Location | Path = target
    with place.filled():
        if args.only_keys:
            restored_into = _keys_place(settings)
            content = backup.restore_keys(args.file, opener, place)
            if not content.files:
                raise identity_issues.NO_KEYS_IN_BACKUP.error(path=args.file)
        else:
            with _made_directory(settings, target, key_place), new_if_missing(target) as draft:
                async with opened_at(draft, may_create=True) as database:
                    content = await backup.restore(database, args.file, opener, place)
                if key_place.database_owner is not None and draft is not target and isinstance(draft, SqliteLocation):
                    os.chown(draft.path, *key_place.database_owner)
    if args.json:
        print_json(_as_json(content))
    else:
        print(f"restored into {restored_into}: {_summarise(content)}")
    return 0


def keygen(args: argparse.Namespace) -> int:
    """Write a new identity as `age-keygen` does, and print its recipient."""
    identity = Identity.new(secrets)
    text = f"# created: {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}\n# public key: {identity.recipient}\n{identity.text}\n"
    try:
        with new_file(args.file) as draft:
            draft.write_text(text)
            with draft.open("rb") as written:
                os.fsync(written.fileno())
    except FileExistsError:
        raise issues.BACKUP_EXISTS.error(path=args.file) from None
    except OSError as error:
        raise issues.BACKUP_UNWRITABLE.error(path=args.file, reason=error.strerror) from error
    if args.json:
        print_json({"file": str(args.file), "recipient": identity.recipient})
    else:
        print(identity.recipient)
    return 0


def _find_lock(args: argparse.Namespace, *, is_needed: bool) -> Lock | None:
    """What the backup is encrypted to. Raises InputError STORE-039 if it must be encrypted and nothing is given."""
    if args.recipient:
        try:
            return Recipients.parse(args.recipient)
        except ValueError as error:
            raise issues.BAD_BACKUP_KEY.error(key=" ".join(args.recipient), reason=error) from None
    passphrase = find_passphrase(
        args.passphrase_file, args.passphrase_command, may_ask=is_needed, asks_twice=True, prompt=PROMPT
    )
    if passphrase is not None:
        return Passphrase(passphrase)
    if is_needed:
        raise issues.NO_BACKUP_KEY.error()
    return None


def _find_opener(args: argparse.Namespace) -> Opener | None:
    if args.identity is not None:
        return _read_identity(args.identity)
    passphrase = find_passphrase(
        args.passphrase_file, args.passphrase_command, may_ask=is_encrypted(args.file), prompt=PROMPT
    )
    return None if passphrase is None else Passphrase(passphrase)


def _read_identity(path: Path) -> Identity:
    try:
        with path.open() as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise issues.BAD_BACKUP_KEY.error(key=path, reason="others may read it: its mode must be 0600")
            return Identity.parse(file.read(65536))
    except OSError as error:
        raise issues.BAD_BACKUP_KEY.error(key=path, reason=error.strerror) from None
    except ValueError as error:
        raise issues.BAD_BACKUP_KEY.error(key=path, reason=error) from None


def _keys_place(settings: ServerSettings) -> Path:
    """The directory of the keys: the server's, or that of a signer of its own."""
    if settings.signer is None:
        return settings.data
    return load(SignerSettings, {}, os.environ).values.data


def _database_owner(at: Location, settings: ServerSettings) -> str:
    path = at.path if isinstance(at, SqliteLocation) else settings.data
    return owner_of(path) if path.exists() else ""


@contextlib.contextmanager
def _made_directory(settings: ServerSettings, target: Location, place: KeyPlace) -> Iterator[None]:
    """Create the server's directory if its database belongs there and it is missing; a failure removes it again."""
    is_new = isinstance(target, SqliteLocation) and target.path.parent == settings.data and not settings.data.exists()
    if not is_new:
        yield
        return
    try:
        settings.data.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise issues.CANNOT_OPEN.error(location=target, reason=error.strerror) from error
    try:
        yield
        if place.database_owner is not None:
            os.chown(settings.data, *place.database_owner)
    except BaseException:
        with contextlib.suppress(OSError):
            settings.data.rmdir()
        raise


def _as_json(content: backup.Content) -> dict[str, object]:
    return {"tables": content.counts, "keys": content.files}


def _summarise(content: backup.Content) -> str:
    """The contents in a few words; JSON has the count of each table."""
    keys = _count(len(content.files), "file of keys", "files of keys") if content.files else "no keys"
    if not content.counts:
        return keys
    named = [
        _count(content.counts[table], *words)
        for table, words in (
            ("node", ("node", "nodes")),
            ("report", ("report", "reports")),
            ("audit", ("audit entry", "audit entries")),
        )
    ]
    return f"{_count(sum(content.counts.values()), 'row', 'rows')} ({', '.join(named)}), {keys}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _format_size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 1_000_000 else f"{math.ceil(size_bytes / 1000)} kB"
