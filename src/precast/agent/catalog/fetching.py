"""Fetches what was released to this node: its policy, its catalog and every content that it names, checked, kept for runs.

The catalog gets its place last, so the one that is kept is always whole: a node that is cut off in the middle applies what it had.
A catalog that is known is answered with a word, and a content that is there is not asked for again.
"""

import ssl
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.agent import issues
from precast.agent.catalog import cached as kept
from precast.agent.catalog import plugins, policy
from precast.agent.catalog.contents import keep_contents
from precast.agent.state.notes import FetchNote, LinkNote, PolicyNote
from precast.agent.state.places import STATE
from precast.agent.state.store import LocalStore
from precast.base import digests, https
from precast.base.errors import PrecastError
from precast.base.files import write_private
from precast.catalog.reading import unseal
from precast.wire.nodes.policy import Policy, SignedPolicy

CONTENT = STATE / "content"
_NOT_MODIFIED = 304
_NOT_FOUND = 404
# What a server says that has nothing for this node.
NOTHING_RELEASED = "RELEASE-001"


class Fetched(NamedTuple):
    """What came of it: the catalog's digest, whether it is another than before, how many contents came, which plug-ins."""

    digest: str
    is_new: bool
    contents: int
    plugins: tuple[str, ...]
    environment: str
    version: str
    release: int


def fetch_and_note(root: Path, urls: Sequence[str], context: ssl.SSLContext, store: LocalStore) -> Fetched:
    """Keep what one of the servers has for this node, and note that it was confirmed; the one we are connected to is asked first.

    Raises as `fetch` does, of the last that was asked.
    """
    link = store.noted(LinkNote)
    order = sorted(urls, key=lambda url: link is None or url != link.url)
    for url in order[:-1]:
        try:
            return _fetch_and_note(root, url, context, store)
        except PrecastError as error:
            if not error.consequence.retry:
                raise
    return _fetch_and_note(root, order[-1], context, store)


def _fetch_and_note(root: Path, url: str, context: ssl.SSLContext, store: LocalStore) -> Fetched:
    serial = fetch_policy(root, url, context, store)
    try:
        fetched = fetch(root, url, context)
    except PrecastError as error:
        if error.code == NOTHING_RELEASED:
            now = store.clock.now()
            trouble = "nothing is released to this node any more" if kept.place(root).exists() else ""
            store.note(FetchNote(policy=serial, checked_at=now, trouble=trouble, failed_at=now))
        raise
    origin = (fetched.environment, fetched.version, fetched.release)
    store.note(FetchNote(fetched.digest, *origin, serial, checked_at=store.clock.now()))
    return fetched


def fetch_policy(root: Path, url: str, context: ssl.SSLContext, store: LocalStore) -> int:
    """Keep the policy that the server has for this node; the serial of the one that is kept then.

    One that is refused is noted with the reason, and the one from before stays. Raises what the server says.
    """
    had, now, trouble = policy.read(root), store.clock.now(), ""
    # In time before it ends it is asked for as if there were none, and one that this node could no longer check too.
    is_good = (
        had is not None
        and had[1].expires_at - now > (had[1].expires_at - had[1].issued_at) / 2
        and _is_ours(root, had[0])
    )
    headers = {"If-None-Match": f'"{had[1].serial}"'} if is_good and had is not None else {}
    came = https.call(url, context, "GET", "/v1/policy", headers=headers)
    if came.status == _NOT_FOUND:
        trouble = (
            "the server has no policy for this node any more; the one that is kept counts until it ends"
            if had is not None
            else ""
        )
    elif came.status >= 400:
        https.read_answer(url, came, dict)
    elif came.status != _NOT_MODIFIED:
        trouble = _accept(root, came.body, now)
    has = policy.read(root)
    said = PolicyNote() if has is None else _note(has[1])
    store.note(msgspec.structs.replace(said, trouble=trouble))
    return said.serial


def _accept(root: Path, data: bytes, now: datetime) -> str:
    from precast.agent.catalog import policy_check

    try:
        policy_check.accept(root, data, now)
    except PrecastError as error:
        if not issues.POLICY_REFUSED.matches(error):
            raise
        return error.message
    return ""


def _is_ours(root: Path, signed: SignedPolicy) -> bool:
    from precast.agent.catalog import policy_check

    try:
        policy_check.verify(root, signed)
    except PrecastError:
        return False
    return True


def _note(has: Policy) -> PolicyNote:
    return PolicyNote(has.serial, has.enforce, has.windows, has.expires_at)


def fetch(root: Path, url: str, context: ssl.SSLContext) -> Fetched:
    """Keep what the server has for this node.

    Raises what the server says (RELEASE-001 if nothing was released), DeniedError AGENT-017 if something is not what it should be;
    then the catalog that was kept is still there.
    """
    place = kept.place(root)
    known = digests.of_bytes(place.read_bytes()) if place.is_file() else ""
    headers = {"If-None-Match": f'"{known}"'} if known else {}
    came = https.call(url, context, "GET", "/v1/catalog", headers=headers)
    if came.status == _NOT_MODIFIED:
        return Fetched(known, False, 0, (), *_origin(came))
    if came.status >= 400:
        https.read_answer(url, came, dict)
    digest = digests.of_bytes(came.body)
    if came.headers.get("ETag", "").strip('"') != digest:
        raise issues.NOT_AS_NAMED.error(what="the catalog", digest=digest)
    content = unseal(came.body, "the catalog of this node").body.content
    count = keep_contents(root / CONTENT, list(content.values()), url, context)

    def read(wanted: digests.Digest) -> bytes:
        return (root / CONTENT / wanted).read_bytes()

    named = {name: digests.Digest(one) for name, one in content.items()}
    placed = plugins.place_plugins(root / plugins.DIRECTORY.lstrip("/"), named, read)
    write_private(place, came.body)
    _drop_others(root / CONTENT, set(content.values()))
    return Fetched(digest, True, count, tuple(placed), *_origin(came))


def _origin(came: https.Answer) -> tuple[str, str, int]:
    """The environment, its version, and the number of the release."""
    said = came.headers
    number = said.get("Precast-Release", "0")
    version = said.get("Precast-Code-Version", "")
    return said.get("Precast-Environment", ""), version, int(number) if number.isdecimal() else 0


def _drop_others(directory: Path, named: set[str]) -> None:
    """Remove what the catalog names no more."""
    for path in directory.iterdir():
        if path.name not in named:
            path.unlink()
