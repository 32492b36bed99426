"""Fetches what was released to this node: its policy, its catalog, and every content and secret value that the catalog names.

A process without privileges talks to the server (`network`); this one is root, and verifies what that one hands over: nothing of a
catalog is used before its release pointer was verified. The catalog is written last, after everything it needs was checked and cached,
so the cached catalog is always complete: a node that is cut off in the middle applies the one it had. If the node has the current
catalog, the server answers 304 Not Modified, and what is cached is not downloaded again. Values of secrets are given only for the catalog
that is served: if another one is released in the middle of a fetch, the fetch starts again.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.agent import issues
from precast.agent.catalog import cached_secrets, plugins
from precast.agent.catalog.cache_lock import cache_locked
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.catalog.cached_policy import read_policy
from precast.agent.catalog.cached_release import applied_sequence, next_release_path, release_path
from precast.agent.catalog.content_download import download_contents
from precast.agent.catalog.entry_catalog import delete_old_entries
from precast.agent.catalog.secrets_download import download_values
from precast.agent.futures import value_tables
from precast.agent.network.http_client import HttpClient
from precast.agent.state import paths
from precast.agent.state.life import same_life
from precast.agent.state.status_notes import ConnectionNote, FetchNote, PolicyNote
from precast.agent.state.store import LocalStore, put_note
from precast.agent.state.wakeup import wake_daemon
from precast.base import digests, https
from precast.base.errors import PrecastError
from precast.base.files import write_private
from precast.catalog.body import Body
from precast.catalog.document import unseal
from precast.catalog.futures import find_needs
from precast.catalog.secret_values import find_references
from precast.wire.catalogs.release_pointer import HEADER
from precast.wire.nodes.policy import Policy, SignedPolicy

CONTENT = paths.STATE / paths.CONTENT
_NOT_MODIFIED = 304
_NOT_FOUND = 404
# The error code of a server that has released nothing to this node.
NOTHING_RELEASED = "RELEASE-001"
# The error code of a server that has released another catalog since this one was fetched.
RELEASED_ANOTHER = "RELEASE-007"
# How often a fetch starts again for that reason. More releases than that at once are left to the next fetch.
RESTARTS = 4
_LOCK = "fetch.lock"


class FetchResult(NamedTuple):
    """The catalog's digest and origin, whether it is new, how many contents were downloaded, and which plug-ins were written."""

    digest: str
    is_new: bool
    contents: int
    plugins: tuple[str, ...]
    environment: str
    version: str
    release: int
    needs_values: bool = False  # of other nodes


def fetch_and_note(root: Path, urls: Sequence[str], client: HttpClient, store: LocalStore) -> FetchResult:
    """Fetch from the first server that answers, and note that it confirmed the catalog. The server of the connection is asked first.

    Raises the error of the last server that was asked, as `fetch` does.
    """
    connection = store.read_note(ConnectionNote)
    order = sorted(urls, key=lambda url: connection is None or url != connection.url)
    for url in order[:-1]:
        try:
            return _fetch_and_note(root, url, client, store)
        except PrecastError as error:
            if not error.consequence.retry:
                raise
    return _fetch_and_note(root, order[-1], client, store)


def _fetch_and_note(root: Path, url: str, client: HttpClient, store: LocalStore) -> FetchResult:
    serial = fetch_policy(root, url, client, store)
    try:
        fetched = fetch(root, url, client, applied_sequence(store), store.life)
    except PrecastError as error:
        if error.code == NOTHING_RELEASED:
            now = store.clock.now()
            trouble = "the server no longer has a release for this node" if catalog_path(root).exists() else ""
            store.write_note(FetchNote(policy=serial, checked_at=now, trouble=trouble, failed_at=now))
        raise
    origin = (fetched.environment, fetched.version, fetched.release)
    with store.transaction() as db:
        put_note(db, FetchNote(fetched.digest, *origin, serial, checked_at=store.clock.now()))
        has_changed = value_tables.follow_catalog(db, fetched.digest if fetched.needs_values else "")
    if has_changed:
        wake_daemon(store.path.parent)
    delete_old_entries(root, store.clock.now())
    return fetched


def fetch_policy(root: Path, url: str, client: HttpClient, store: LocalStore) -> int:
    """Fetch the policy of this node and cache it. Returns the serial of the policy that is cached then.

    If the policy is refused, the reason is noted and the cached policy stays. Raises the server's error.
    """
    cached, now, trouble = read_policy(root), store.clock.now(), ""
    headers = {"If-None-Match": f'"{cached[1].tag}"'} if cached is not None and _is_current(root, cached, now) else {}
    response = client.get(url, "/v1/policy", headers)
    if response.status == _NOT_FOUND:
        trouble = (
            "the server no longer has a policy for this node; the cached one is in force until it expires"
            if cached is not None
            else ""
        )
    elif response.status >= 400:
        https.read_answer(url, response, dict)
    elif response.status != _NOT_MODIFIED:
        with same_life(root, store.life):
            trouble = _accept_policy(root, response.body, now)
    current = read_policy(root)
    note = PolicyNote() if current is None else _policy_note(current[1])
    store.write_note(msgspec.structs.replace(note, trouble=trouble))
    return note.serial


def _is_current(root: Path, cached: tuple[SignedPolicy, Policy], now: datetime) -> bool:
    """Whether the cached policy is valid and has more than half of its life left, so that the server need not sign it again."""
    from precast.agent.catalog import policy_check

    signed, policy = cached
    if policy.expires_at - now <= (policy.expires_at - policy.issued_at) / 2:
        return False
    try:
        policy_check.verify(root, signed)
    except PrecastError:
        return False
    return True


def _accept_policy(root: Path, data: bytes, now: datetime) -> str:
    """Cache a policy if it is valid. Returns the reason if it is refused."""
    from precast.agent.catalog import policy_check

    try:
        policy_check.accept(root, data, now)
    except PrecastError as error:
        if not issues.POLICY_REFUSED.matches(error):
            raise
        return error.message
    return ""


def _policy_note(policy: Policy) -> PolicyNote:
    return PolicyNote(policy.serial, policy.enforce, policy.windows, policy.expires_at)


def fetch(root: Path, url: str, client: HttpClient, applied: int = 0, life: str = "") -> FetchResult:
    """Fetch the catalog of this node with everything that it names, and cache it. `applied` is the sequence of the release applied last.

    Nothing is cached if the machine was enrolled again meanwhile. Raises ConflictError AGENT-023 then, the server's error (RELEASE-001 if
    nothing was released), DeniedError AGENT-017 if something does not have its digest, AGENT-019 if the release pointer is refused; then
    the cached catalog stays.
    """
    with cache_locked(root / paths.STATE, _LOCK):
        for _ in range(RESTARTS):
            try:
                return _fetch_once(root, url, client, applied, life)
            except PrecastError as error:
                if error.code != RELEASED_ANOTHER:
                    raise
        return _fetch_once(root, url, client, applied, life)


def _fetch_once(root: Path, url: str, client: HttpClient, applied: int, life: str) -> FetchResult:
    from precast.agent.catalog import release_check

    path = catalog_path(root)
    cached = path.read_bytes() if path.is_file() else b""
    headers = {"If-None-Match": f'"{digests.of_bytes(cached)}"'} if cached else {}
    response = client.get(url, "/v1/catalog", headers)
    if response.status >= 400:
        https.read_answer(url, response, dict)
    signed = release_check.decode_header(response.headers.get(HEADER, ""))
    pointer = release_check.verify(root, signed)
    is_new = response.status != _NOT_MODIFIED
    catalog = response.body if is_new else cached
    release_check.check_digest(pointer, catalog)
    release_check.check_sequence(pointer, applied)
    body = unseal(catalog, "the catalog of this node").body
    refs = find_references(body)
    # Also if the catalog is known: a value may have been lost.
    values = download_values(refs, cached_secrets.read_values(path.parent), url, client, pointer.digest)
    count = download_contents(root / CONTENT, list(body.content.values()), url, client) if is_new else 0
    with same_life(root, life):
        written = _write_plugins(root, body) if is_new else []
        write_private(next_release_path(root), msgspec.json.encode(signed))
        cached_secrets.add_values(path.parent, values.values())
        if is_new:
            write_private(path, catalog)
            _delete_others(root / CONTENT, set(body.content.values()))
        next_release_path(root).replace(release_path(root))
        cached_secrets.keep_only(path.parent, refs)
    origin = (pointer.environment, pointer.version, pointer.release)
    needs_values = any(True for resource in body.resources for _ in find_needs(resource.parameters))
    return FetchResult(pointer.digest, is_new, count, tuple(written), *origin, needs_values)


def _write_plugins(root: Path, body: Body) -> list[str]:
    """Write the plug-ins of a catalog whose contents are cached. Returns the names of those that are new or changed."""

    def read(content_digest: digests.Digest) -> bytes:
        return (root / CONTENT / content_digest).read_bytes()

    named = {name: digests.Digest(content_digest) for name, content_digest in body.content.items()}
    return plugins.write_plugins(root / plugins.DIRECTORY.lstrip("/"), named, read)


def _delete_others(directory: Path, named: set[str]) -> None:
    """Delete the contents that the catalog no longer names."""
    for path in directory.iterdir():
        if path.name not in named:
            path.unlink()
