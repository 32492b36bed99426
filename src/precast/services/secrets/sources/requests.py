"""Requests to ask sources again before the time of their values is over: when a version is deployed, and when an operator wants it."""

from typing import Final

from precast.services.work_kinds import ASK_SECRET
from precast.store.engine.query import Transaction
from precast.store.queue.kinds import ItemRequest
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.source_documents import DocumentKey, ListedDocument, SourceDocuments

PAGE: Final = 500
FIRST: Final = ListedDocument("", DocumentKey("", "", ""))


def request_environment(
    store: SourceDocuments, work: WorkQueue, environment: str, after: ListedDocument
) -> Transaction[ListedDocument | None]:
    """Request a page of the documents of an environment; returns the last one, None at the end."""
    page = yield from store.list_in(environment, after, PAGE)
    yield from work.enqueue_items(ASK_SECRET.name, [ItemRequest(document.id) for document in page])
    return page[-1] if len(page) == PAGE else None


def request_source(
    store: SourceDocuments, work: WorkQueue, source: str, after: ListedDocument
) -> Transaction[tuple[int, ListedDocument | None]]:
    """Request those of a page of all documents that are of a source; returns how many, and the last document of the page."""
    page = yield from store.list_all(after, PAGE)
    wanted = [ItemRequest(document.id) for document in page if document.key.source == source]
    yield from work.enqueue_items(ASK_SECRET.name, wanted)
    return len(wanted), page[-1] if len(page) == PAGE else None
