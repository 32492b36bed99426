"""What compiles and walks read from secret sources: the documents in the database, and for a new one the first answer of its source.

A document that was read once is always there, however old, so an outage of its source fails no compile. For one that never was, the caller
waits a while for the source; then its compile fails with a reason, and the nodes that need it are decided upon when the source answers.
Documents are asked for through the work queue, so the servers of a site ask once and not each.
"""

import asyncio
import hashlib
import hmac
import json
import posixpath
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from precast.base import canonical, digests
from precast.base.encryption.sealing import SealBroken, seal, unseal
from precast.services.secrets.sources import issues
from precast.services.secrets.sources.configuration import Sources
from precast.services.work_kinds import ASK_SECRET
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.source_documents import DocumentKey, SecretPolicy, SourceDocument, SourceDocuments

# A caller waits so long for the first answer of a source.
WAIT_S: Final = 15.0
MAX_PATH_CHARS: Final = 500
# A step of a path, with the ending of a file, is the name of a file.
MAX_STEP_BYTES: Final = 250
MAX_DOCUMENTS: Final = 20_000
# The topic of wake-ups for documents that were asked for.
TOPIC: Final = "secrets"
# In the answers, the entry for the document as a whole.
WHOLE: Final = ""


class Keys(Protocol):
    """The keys of one environment that documents need."""

    @property
    def answer(self) -> bytes: ...

    @property
    def value(self) -> bytes: ...


FindKeys = Callable[[str], Awaitable[Keys]]


class FieldRead(NamedTuple):
    """The answer to a question about a field, and the value that belongs to it; None if there is none."""

    answer: str | None
    value: Any = None


class SecretDocuments:
    """Reads documents for the environments that may read them; holds no state between calls."""

    def __init__(
        self, database: Database, store: SourceDocuments, configured: Sources, find_keys: FindKeys, work: WorkQueue
    ) -> None:
        self._database, self._store, self._configured = database, store, configured
        self._find_keys, self._work = find_keys, work

    def allows(self, environment: str, source: str, path: str) -> bool:
        """Whether the configuration lets an environment read a path of a source."""
        settings = self._configured.get(source)
        return settings is not None and is_path(path) and settings.allows(environment, path)

    async def find_policy(self, environment: str) -> SecretPolicy:
        """The policy of an environment, with the revision of what it has read."""
        return await self._database.read(self._store.find_policy, environment)

    async def read_answers(self, key: DocumentKey, nodes: Iterable[str]) -> Mapping[str, str]:
        """The answers about the fields of a document; empty if there is no such document. Raises as `obtain` does."""
        answers = (await self.obtain(key, nodes)).answers
        assert answers is not None, "only documents with an answer are obtained"
        return answers

    async def read_field(self, key: DocumentKey, field: str, node: str) -> FieldRead:
        """The answer and the value of a field, from one reading. Raises as `obtain` does.

        A stored value that does not open, because the keys of the site are others now, is asked for again.
        """
        document = await self.obtain(key, [node])
        answer = (document.answers or {}).get(field)
        if answer is None or document.sealed is None:
            return FieldRead(None)
        keys = await self._find_keys(key.environment)
        try:
            fields = await asyncio.to_thread(open_fields, keys, document)
        except SealBroken:
            reason = "what was stored does not open with the present keys, and is asked for again"
            await self._database.write(self._forget, document, reason, node)
            raise issues.NO_VALUE_YET.error(path=key.path, source=key.source, reason=reason) from None
        return FieldRead(answer, fields if field == WHOLE else fields[field])

    async def obtain(self, key: DocumentKey, nodes: Iterable[str]) -> SourceDocument:
        """The document as it is stored; a new one is asked for first. `nodes` are decided upon when a missing answer comes.

        Raises UnavailableError SECRET-022 if the source has not answered, SECRET-023. Cancelling is safe: the source is asked all the same.
        """
        document_id = digests.of_value(key)
        with self._database.wakeups.subscribe(TOPIC) as sleeper:
            document = await self._database.read(self._store.find, document_id)
            if document is None:
                document = await self._database.write(self._request_new, document_id, key)
            until_s = self._database.clock.monotonic_s() + WAIT_S
            while document is not None and document.answers is None and document.problem is None:
                left_s = until_s - self._database.clock.monotonic_s()
                if left_s <= 0:
                    break
                await sleeper.wait(min(1.0, left_s))
                document = await self._database.read(self._store.find, document_id)
        if document is not None and document.answers is not None:
            return document
        await self._database.write(self._store.add_readers, [(node, document_id) for node in nodes])
        reason = (document and document.problem) or "the source has not answered so far"
        raise issues.NO_VALUE_YET.error(path=key.path, source=key.source, reason=reason)

    def _forget(self, document: SourceDocument, reason: str, node: str) -> Transaction[None]:
        yield from self._store.forget(document, reason)
        yield from self._store.add_readers([(node, document.id)])
        yield from self._work.enqueue_item(ASK_SECRET.name, document.id, b"", lane=document.key.source)

    def _request_new(self, document_id: str, key: DocumentKey) -> Transaction[SourceDocument | None]:
        if (yield from self._store.count(key.environment, MAX_DOCUMENTS)) >= MAX_DOCUMENTS:
            raise issues.TOO_MANY_DOCUMENTS.error(environment=key.environment, limit=MAX_DOCUMENTS)
        yield from self._store.add(document_id, key)
        yield from self._work.enqueue_item(ASK_SECRET.name, document_id, b"", lane=key.source)
        return (yield from self._store.find(document_id))


def is_path(path: str) -> bool:
    """Whether a path is normalised. A worker might send any: it runs code that somebody else wrote."""
    is_plain = 0 < len(path) <= MAX_PATH_CHARS and path.isprintable() and not path.startswith(("/", ".."))
    is_short = all(len(step.encode(errors="replace")) <= MAX_STEP_BYTES for step in path.split("/"))
    return is_plain and is_short and path == posixpath.normpath(path) != "."


def seal_fields(keys: Keys, key: DocumentKey, fields: Mapping[str, Any]) -> bytes:
    """The fields of a document, as they are stored. Their order is kept."""
    return seal(keys.value, msgspec.json.encode(dict(fields)), _place(key))


def open_fields(keys: Keys, document: SourceDocument) -> dict[str, Any]:
    """The fields of a stored document. Raises SealBroken."""
    assert document.sealed is not None, "the caller checks it"
    fields: dict[str, Any] = msgspec.json.decode(unseal(keys.value, document.sealed, _place(document.key)))
    return fields


def make_answers(keys: Keys, fields: Mapping[str, Any]) -> dict[str, str]:
    """The answers about a document: an HMAC of each field, and of the whole. Without the key they tell nothing about a value."""
    answers = {name: _answer(keys, value) for name, value in fields.items() if name != WHOLE}
    return {**answers, WHOLE: _answer(keys, dict(fields))}


def _answer(keys: Keys, value: Any) -> str:
    # Not canonical: the order of the entries of a hash is visible to code.
    data = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
    return hmac.new(keys.answer, b"secret source\0" + data, hashlib.sha256).hexdigest()


def _place(key: DocumentKey) -> bytes:
    return b"precast source document " + canonical.encode(list(key))
