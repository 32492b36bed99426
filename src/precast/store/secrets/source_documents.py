"""Documents that servers have read from secret sources: sealed fields, an answer for each of them, and the nodes that read them.

Each change of a document raises the revision of its environment, in the same transaction. Whoever has answers in memory compares the
revision, and so never uses an answer that has changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base import canonical
from precast.base.clock import from_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction, json_list

FIND = Query(
    "source_documents.find",
    """
    SELECT id, environment, source, path, sealed, answers, read_at, tried_at, due_at, problem FROM source_document
    WHERE id = :id
    """,
)
ADD = Query(
    "source_documents.add",
    """
    INSERT INTO source_document (id, environment, source, path, due_at) VALUES (:id, :environment, :source, :path, :now)
    ON CONFLICT (id) DO NOTHING
    """,
)
STORE = Query(
    "source_documents.store",
    """
    UPDATE source_document
    SET sealed = :sealed, answers = :answers, read_at = :now, tried_at = :now, due_at = :due_at, problem = NULL WHERE id = :id
    """,
)
NOTE_PROBLEM = Query(
    "source_documents.note_problem",
    "UPDATE source_document SET tried_at = :now, problem = :problem WHERE id = :id",
)
DELETE = Query("source_documents.delete", "DELETE FROM source_document WHERE id = :id RETURNING id")
DELETE_ALL = Query("source_documents.delete_all", "DELETE FROM source_document")
COUNT = Query(
    "source_documents.count",
    "SELECT count(*) FROM (SELECT 1 FROM source_document WHERE environment = :environment LIMIT :limit) AS documents",
)
PAGE_OF_ENVIRONMENT = Query(
    "source_documents.page_of_environment",
    """
    SELECT id, environment, source, path FROM source_document
    WHERE environment = :environment AND (source, id) > (:source, :id) ORDER BY source, id LIMIT :limit
    """,
)
PAGE_OF_ALL = Query(
    "source_documents.page_of_all",
    """
    SELECT id, environment, source, path FROM source_document
    WHERE (environment, source, id) > (:environment, :source, :id) ORDER BY environment, source, id LIMIT :limit
    """,
)
SUMMARY = Query(
    "source_documents.summary",
    """
    -- Reads all documents, of which a site has some thousands; only people ask for it.
    SELECT source, environment, count(*), count(answers), count(problem), max(read_at), max(tried_at), min(due_at), max(problem)
    FROM source_document GROUP BY source, environment ORDER BY source, environment LIMIT :limit
    """,
)
FAILED = Query(
    "source_documents.failed",
    "SELECT count(*) FROM source_document WHERE problem IS NOT NULL",
)
FORGET = Query(
    "source_documents.forget",
    "UPDATE source_document SET sealed = NULL, answers = NULL, problem = :problem, tried_at = :now WHERE id = :id",
)
READ_BY = Query(
    "source_documents.read_by",
    "SELECT node, document FROM secret_reader WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT node, document FROM secret_reader
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
ADD_READER = Query(
    "source_documents.add_reader",
    """
    -- A document that has just been deleted needs no row.
    INSERT INTO secret_reader (document, node) SELECT id, :node FROM source_document WHERE id = :document
    ON CONFLICT (document, node) DO NOTHING
    """,
)
REMOVE_READER = Query(
    "source_documents.remove_reader", "DELETE FROM secret_reader WHERE document = :document AND node = :node"
)
OVERDUE = Query(
    "source_documents.overdue",
    """
    SELECT id FROM source_document
    WHERE id IN (SELECT value FROM json_each(:documents)) AND due_at <= :now AND answers IS NOT NULL AND problem IS NULL
    """,
    postgresql="""
    SELECT id FROM source_document
    WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:documents AS JSONB)))) AND due_at <= :now
        AND answers IS NOT NULL AND problem IS NULL
    """,
)
READERS = Query(
    "source_documents.readers",
    "SELECT node FROM secret_reader WHERE document = :document AND node > :after ORDER BY node LIMIT :limit",
)
DELETE_NODE = Query("source_documents.delete_node", "DELETE FROM secret_reader WHERE node = :node")
POLICY = Query("secret_policy.find", "SELECT revision, by_facts FROM secret_policy WHERE environment = :environment")
LOCK_POLICY = Query(
    "secret_policy.lock",
    "SELECT revision FROM secret_policy WHERE environment = :environment",
    # No document changes before the commit; other readers do not wait.
    postgresql="SELECT revision FROM secret_policy WHERE environment = :environment FOR SHARE",
)
ADVANCE = Query(
    "secret_policy.advance",
    """
    INSERT INTO secret_policy (environment, revision, by_facts) VALUES (:environment, 1, :by_facts)
    ON CONFLICT (environment) DO UPDATE SET revision = secret_policy.revision + 1
    """,
)
SET_POLICY = Query(
    "secret_policy.set",
    """
    INSERT INTO secret_policy (environment, revision, by_facts) VALUES (:environment, 1, :by_facts)
    ON CONFLICT (environment) DO UPDATE SET revision = secret_policy.revision + 1, by_facts = excluded.by_facts
    """,
)
WARN, REFUSE = BY_FACTS = ("warn", "refuse")
MAX_SUMMARY = 2_000


class DocumentKey(NamedTuple):
    """Where a document is: an environment, a source, and a path in it."""

    environment: str
    source: str
    path: str


class SourceDocument(msgspec.Struct, frozen=True):
    """A document as it was last read. `answers` is None if the source has not answered yet; without an entry "" there is no document."""

    id: str
    key: DocumentKey
    sealed: bytes | None
    answers: Mapping[str, str] | None
    read_at: datetime | None
    tried_at: datetime | None
    due_at: datetime
    problem: str | None


class ListedDocument(NamedTuple):
    """A document without its content."""

    id: str
    key: DocumentKey


class SecretPolicy(NamedTuple):
    """The revision of what an environment has read from sources, and whether a fact may choose a secret."""

    revision: int
    by_facts: str


class SourceSummary(msgspec.Struct, frozen=True):
    """The documents that an environment reads from a source: how many there are, are known, and failed when they were last asked for."""

    source: str
    environment: str
    documents: int
    known: int
    failed: int
    read_at: datetime | None
    tried_at: datetime | None
    due_at: datetime
    problem: str | None


class SourceDocuments:
    """The documents of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, document: str) -> Transaction[SourceDocument | None]:
        rows = yield FIND(id=document)
        return _document(rows[0]) if rows else None

    def add(self, document: str, key: DocumentKey) -> Transaction[None]:
        """Add a document that was not read yet, unless it is there."""
        yield ADD(id=document, **key._asdict(), now=self._now())

    def store(
        self, document: SourceDocument, sealed: bytes | None, answers: Mapping[str, str], due_at: datetime
    ) -> Transaction[bool]:
        """Store what a source has answered; returns whether an answer has changed, which raises the revision."""
        text = canonical.encode(dict(answers)).decode()
        yield STORE(id=document.id, sealed=sealed, answers=text, now=self._now(), due_at=to_micros(due_at))
        if document.answers == answers:
            return False
        yield from self.advance(document.key.environment)
        return True

    def note_problem(self, document: str, problem: str) -> Transaction[None]:
        """Record that the source gave nothing. What it gave before stays."""
        yield NOTE_PROBLEM(id=document, problem=problem, now=self._now())

    def forget(self, document: SourceDocument, problem: str) -> Transaction[None]:
        """Forget what a source has answered: it is as if the source had never been asked."""
        yield FORGET(id=document.id, problem=problem, now=self._now())
        yield from self.advance(document.key.environment)

    def delete(self, document: SourceDocument) -> Transaction[None]:
        """Delete a document with its readers."""
        if (yield DELETE(id=document.id)):
            yield from self.advance(document.key.environment)

    def count(self, environment: str, limit: int) -> Transaction[int]:
        """Count the documents of an environment, up to a limit."""
        ((count,),) = yield COUNT(environment=environment, limit=limit)
        return int(count)

    def list_all(self, after: ListedDocument, limit: int) -> Transaction[list[ListedDocument]]:
        """List a page of all documents."""
        key = after.key
        rows = yield PAGE_OF_ALL(environment=key.environment, source=key.source, id=after.id, limit=limit)
        return [ListedDocument(row[0], DocumentKey(*row[1:])) for row in rows]

    def list_in(self, environment: str, after: ListedDocument, limit: int) -> Transaction[list[ListedDocument]]:
        """List a page of the documents of an environment."""
        rows = yield PAGE_OF_ENVIRONMENT(environment=environment, source=after.key.source, id=after.id, limit=limit)
        return [ListedDocument(row[0], DocumentKey(*row[1:])) for row in rows]

    def summarise(self) -> Transaction[list[SourceSummary]]:
        """Summarise the documents of each source and environment."""
        return [_summary(row) for row in (yield SUMMARY(limit=MAX_SUMMARY))]

    # Readers

    def replace_readers(self, read: Mapping[str, frozenset[str]]) -> Transaction[list[str]]:
        """Record for these nodes the documents that their newest walks have read, in place of those before.

        Returns the documents whose time is over: while no node read them, the source was not asked for them.
        """
        known: dict[str, set[str]] = {node: set() for node in read}
        for node, document in (yield READ_BY(nodes=json_list(sorted(read)))):
            known[node].add(document)
        pairs = sorted((node, document) for node in read for document in read[node] - known[node])
        gone = sorted((node, document) for node in read for document in known[node] - read[node])
        yield from self.add_readers(pairs)
        if gone:
            yield REMOVE_READER.many({"document": document, "node": node} for node, document in gone)
        if not pairs:
            return []
        documents = json_list(sorted({document for _, document in pairs}))
        return [row[0] for row in (yield OVERDUE(documents=documents, now=self._now()))]

    def add_readers(self, pairs: Iterable[tuple[str, str]]) -> Transaction[None]:
        """Record for each pair that the node reads the document."""
        rows = [{"document": document, "node": node} for node, document in sorted(pairs)]
        if rows:
            yield ADD_READER.many(rows)

    def list_readers(self, document: str, after: str, limit: int) -> Transaction[Sequence[str]]:
        """List a page of the nodes that read a document, by name."""
        return [row[0] for row in (yield READERS(document=document, after=after, limit=limit))]

    # Policy

    def find_policy(self, environment: str) -> Transaction[SecretPolicy]:
        rows = yield POLICY(environment=environment)
        return SecretPolicy(int(rows[0][0]), rows[0][1]) if rows else SecretPolicy(0, WARN)

    def lock_revision(self, environment: str) -> Transaction[int]:
        """The revision of an environment, which stays until the commit."""
        rows = yield LOCK_POLICY(environment=environment)
        return int(rows[0][0]) if rows else 0

    def set_policy(self, environment: str, by_facts: str) -> Transaction[None]:
        """Set whether a fact may choose a secret."""
        yield SET_POLICY(environment=environment, by_facts=by_facts)

    def advance(self, environment: str) -> Transaction[None]:
        """Raise the revision of an environment."""
        yield ADVANCE(environment=environment, by_facts=WARN)

    def _now(self) -> int:
        return to_micros(self._database.clock.now())


def delete_all_documents() -> Transaction[None]:
    """Delete every document: no key opens them any more. Compiles request them again."""
    yield DELETE_ALL()


def count_failed_documents() -> Transaction[int]:
    """Count the documents that could not be read when they were last asked for."""
    ((count,),) = yield FAILED()
    return int(count)


def delete_node_reads(node: str) -> Transaction[None]:
    """Forget which documents a node reads."""
    yield DELETE_NODE(node=node)


def _document(row: Row) -> SourceDocument:
    document, environment, source, path, sealed, answers, read_at, tried_at, due_at, problem = row
    return SourceDocument(
        document,
        DocumentKey(environment, source, path),
        None if sealed is None else bytes(sealed),
        None if answers is None else msgspec.json.decode(answers, type=dict[str, str]),
        _time(read_at),
        _time(tried_at),
        from_micros(due_at),
        problem,
    )


def _summary(row: Row) -> SourceSummary:
    source, environment, documents, known, failed, read_at, tried_at, due_at, problem = row
    times = _time(read_at), _time(tried_at), from_micros(due_at)
    return SourceSummary(source, environment, int(documents), int(known), int(failed), *times, problem)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
