"""Catalogs of entry points, which tasks of plans apply: fetched when a task names one, verified, and cached for the next time.

The order of a task names the entry point and the version of its catalog. Nothing of that catalog is used unless an authority that this
node trusts has signed it for this node and this entry point: when it is fetched, and again when it is read. A catalog is cached after the
contents and the values of secrets that it names, so a cached one is complete. The values are in the directory of the catalog, and are
deleted with it. It is never taken for the released catalog, whose fetch deletes nothing here.
"""

import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import msgspec

from precast.agent import issues
from precast.agent.catalog import release_check
from precast.agent.catalog.cache_lock import cache_locked
from precast.agent.catalog.cached_secrets import Values, add_values, keep_only, read_values
from precast.agent.catalog.content_download import download_contents
from precast.agent.catalog.secrets_download import download_values
from precast.agent.network.http_client import HttpClient
from precast.agent.state import paths
from precast.agent.state.life import same_life
from precast.base import digests, https
from precast.base.errors import PrecastError
from precast.base.files import make_private_directory, write_private
from precast.catalog.body import PLUGIN_SCHEME
from precast.catalog.document import unseal
from precast.catalog.secret_values import find_references
from precast.wire.catalogs.release_pointer import HEADER, SignedRelease

DIRECTORY = paths.STATE / paths.ENTRIES
CONTENT = DIRECTORY / paths.CONTENT
# A catalog that no task has read for this time is deleted, with the contents that only it names.
KEPT = timedelta(days=7)


def fetch_entry_catalog(
    root: Path, urls: Sequence[str], client: HttpClient, entry: str, version: str, *, now: datetime, life: str = ""
) -> bool:
    """Cache a version of the catalog of an entry point, and every content that it names. Returns whether it was not cached before.

    The servers are asked in order, until one answers. Raises the error of the last one, DeniedError AGENT-017 if something does not have
    its digest, AGENT-019 if the pointer is refused, ConflictError AGENT-023 if the machine was enrolled again meanwhile.
    """
    if not digests.is_digest(version):
        raise issues.NOT_AS_NAMED.error(what="a catalog", digest=version[:80])
    with cache_locked(root / DIRECTORY):
        if is_cached(root, entry, version):
            return False
        for url in urls[:-1]:
            try:
                _fetch(root, url, client, entry, version, life)
                break
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
        else:
            _fetch(root, urls[-1], client, entry, version, life)
        _delete_old(root, now)
    return True


def delete_old_entries(root: Path, now: datetime) -> None:
    """Delete the catalogs that no task has read for long, with the values of their secrets and the contents that only they name."""
    if (root / DIRECTORY).is_dir():
        with cache_locked(root / DIRECTORY):
            _delete_old(root, now)


def read_entry_catalog(root: Path, entry: str, version: str) -> tuple[bytes, Values]:
    """Read a cached catalog of an entry point, verify it, and read the values of its secrets. Its contents are in `CONTENT`.

    Raises NotFoundError AGENT-024 if it is not cached, DeniedError AGENT-019 if it is refused.
    """
    directory = _directory(root, entry, version)
    try:
        signed, catalog = (directory / paths.RELEASE).read_bytes(), (directory / paths.CATALOG).read_bytes()
        os.utime(directory)
    except FileNotFoundError:
        raise issues.NO_ENTRY.error(entry=entry, version=version[:12]) from None
    except OSError as error:
        raise issues.CANNOT_KEEP.error(path=directory, reason=error.strerror) from None
    try:
        _verify(root, msgspec.json.decode(signed, type=SignedRelease), entry, version, catalog)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise issues.RELEASE_REFUSED.error(reason=f"{directory / paths.RELEASE} cannot be read") from None
    return catalog, read_values(directory)


def is_cached(root: Path, entry: str, version: str) -> bool:
    """Whether a version of the catalog of an entry point is cached and valid, so that no server need be asked for it."""
    try:
        catalog, values = read_entry_catalog(root, entry, version)
    except PrecastError:
        return False
    return _named_secrets(catalog) <= values.keys()


def _fetch(root: Path, url: str, client: HttpClient, entry: str, version: str, life: str) -> None:
    response = client.get(url, f"/v1/entries/{version}?entry={quote(entry, safe='')}", {})
    if response.status >= 400:
        https.read_answer(url, response, dict)
    signed = release_check.decode_header(response.headers.get(HEADER, ""))
    _verify(root, signed, entry, version, response.body)
    download_contents(root / CONTENT, list(_named_contents(response.body)), url, client)
    directory = _directory(root, entry, version)
    refs = _named_secrets(response.body)
    values = download_values(refs, read_values(directory), url, client, version, entry)
    with same_life(root, life):
        make_private_directory(directory)
        add_values(directory, values.values())
        write_private(directory / paths.RELEASE, msgspec.json.encode(signed))
        write_private(directory / paths.CATALOG, response.body)
        keep_only(directory, refs)


def _verify(root: Path, signed: SignedRelease, entry: str, version: str, catalog: bytes) -> None:
    pointer = release_check.verify(root, signed, entry)
    release_check.check_digest(pointer, catalog)
    if pointer.digest != version:
        reason = f"it names the catalog {pointer.digest[:12]}, and the task {version[:12]}"
        raise issues.RELEASE_REFUSED.error(reason=reason)


def _named_contents(catalog: bytes) -> set[str]:
    """The contents that applying a catalog needs: plug-ins collect facts, and only those of the released catalog are run."""
    content = unseal(catalog, "the catalog of an entry point").body.content
    return {digest for name, digest in content.items() if not name.startswith(PLUGIN_SCHEME)}


def _named_secrets(catalog: bytes) -> frozenset[str]:
    return find_references(unseal(catalog, "the catalog of an entry point").body)


def _directory(root: Path, entry: str, version: str) -> Path:
    """The directory of a catalog. Two entry points may have the same catalog, each with its own pointer."""
    return root / DIRECTORY / digests.of_value([entry, version])


def _delete_old(root: Path, now: datetime) -> None:
    """Delete the catalogs that no task has read for long, and the contents that no other one names."""
    catalogs = [path for path in (root / DIRECTORY).iterdir() if digests.is_digest(path.name)]
    old = [path for path in catalogs if datetime.fromtimestamp(path.stat().st_mtime, UTC) < now - KEPT]
    if not old:
        return
    for path in old:
        shutil.rmtree(path)
    named: set[str] = set()
    for path in set(catalogs) - set(old):
        if (catalog := path / paths.CATALOG).is_file():
            named |= _named_contents(catalog.read_bytes())
    for path in (root / CONTENT).iterdir():
        if path.name not in named:
            path.unlink()
