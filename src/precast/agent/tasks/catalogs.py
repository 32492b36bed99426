"""The catalogs that a task applies, or looks at: fetched before it begins, verified, and reduced to the part that it names.

A task applies exactly the version that its order names, which its plan has pinned. A node that has another one fetches once, and then
refuses the task: what would be applied is not what a person has seen.
"""

import logging
from datetime import UTC, datetime
from typing import NamedTuple

from precast.agent import issues
from precast.agent.applying.machine import Contents
from precast.agent.applying.run import RunRequest
from precast.agent.applying.value_binder import NOT_HERE, CallFunction
from precast.agent.catalog.cached_catalog import catalog_path, read_catalog
from precast.agent.catalog.cached_release import applied_sequence
from precast.agent.catalog.entry_catalog import CONTENT as ENTRY_CONTENT
from precast.agent.catalog.entry_catalog import fetch_entry_catalog, is_cached, read_entry_catalog
from precast.agent.catalog.fetch import CONTENT, fetch_and_note
from precast.agent.catalog.filled_catalog import fill, read_with_values, why_withheld
from precast.agent.catalog.release_check import check_cached_catalog
from precast.agent.identity.credentials import Credentials
from precast.agent.network.http_client import HttpClient
from precast.agent.network.request_process import network_client
from precast.agent.orders.order_check import CheckedTask, describe_catalog, needed_catalogs
from precast.agent.tasks.context import StepOutcome, TaskContext
from precast.base import digests
from precast.base.errors import PrecastError
from precast.catalog.document import CatalogDocument, unseal
from precast.catalog.part import CatalogPart, PartSelection, take_part
from precast.resources.contents import CachedContents
from precast.types.ordering import is_container, resolver
from precast.wire.catalogs.release_pointer import ReleasePointer
from precast.wire.jobs.programs import CatalogWork, ManifestWork

log = logging.getLogger("precast.agent")

AnyCatalogWork = CatalogWork | ManifestWork
# Dropped relationships that the output names; all of them are logged.
MAX_NAMED = 5
NO_SERVER = "no server is configured to fetch it from"


class CatalogAccess(NamedTuple):
    """What the process of a task gives its steps to apply catalogs."""

    versions: dict[str, str]  # by entry point; that of the released catalog by ""
    token: int  # of the lease that the process holds
    call: CallFunction | None  # for Deferred values
    is_last_try: bool = True  # of the work


class LoadedPart(NamedTuple):
    """A verified catalog, and the part of it that is applied. `pointer` is that of a release."""

    document: CatalogDocument
    part: CatalogPart
    selection: PartSelection
    version: str
    contents: Contents
    pointer: ReleasePointer | None
    no_secret: str

    def request(self, context: TaskContext, access: CatalogAccess) -> RunRequest:
        """The run of the part, without a report."""
        is_whole = self.part.body is self.document.body
        return RunRequest(
            self.part.body,
            self.document.places,
            self.version,
            root=context.root,
            contents=self.contents,
            call=access.call,
            known=None if is_whole else self.document.body,
            no_secret=self.no_secret,
            token=access.token,
            life=context.store.life,
        )


def prepare_catalogs(context: TaskContext, task: CheckedTask) -> StepOutcome:
    """Have every catalog that the task names cached. Raises DeniedError AGENT-032 if the node cannot have one of them."""
    missing = [entry for entry in dict.fromkeys(needed_catalogs(task.program)) if not _is_cached(context, task, entry)]
    if missing:
        urls = context.settings.urls
        if not urls:
            raise _refusal(task, missing[0], NO_SERVER)
        try:
            with network_client(Credentials(context.root).context(), context.settings.network_user) as client:
                for entry in missing:
                    _fetch(context, task, entry, client)
        except PrecastError as error:
            if issues.TASK_REFUSED.matches(error):
                raise
            raise _refusal(task, missing[0], f"{error.message} [{error.code}]") from error
    return StepOutcome(True)


def load_part(context: TaskContext, work: AnyCatalogWork, versions: dict[str, str]) -> LoadedPart:
    """The part that a work names, of the catalog that the order names.

    Raises DeniedError AGENT-019, AGENT-032, NotFoundError AGENT-024, APPLY-005 if the node no longer has that catalog, InputError
    CATALOG-001 for a relationship with a resource that does not exist.
    """
    entry = work.entry if isinstance(work, ManifestWork) else ""
    version = versions[entry]
    pointer, withheld = None, ""
    if entry:
        data, values = read_entry_catalog(context.root, entry, version)
    else:
        data, values = read_with_values(context.root)
        withheld = why_withheld(context.store, context.settings)
        pointer = check_cached_catalog(context.root, data, applied_sequence(context.store))
        if pointer.digest != version:
            reason = f"{pointer.digest[:12]} was released since its plan was started for the catalog {version[:12]}"
            raise issues.TASK_REFUSED.error(order=context.order, reason=reason)
    document = fill(unseal(data, describe_catalog(entry)), values, withheld)
    selection = _selection(work)
    part = take_part(document.body, selection, resolver(document.body))
    contents = CachedContents(context.root / (ENTRY_CONTENT if entry else CONTENT))
    return LoadedPart(document, part, selection, version, contents, pointer, withheld or NOT_HERE)


def has_resources(part: CatalogPart) -> bool:
    """Whether there is something to apply. A part without resources is most likely a misspelt name."""
    return any(not is_container(resource) and not resource.virtual for resource in part.body.resources)


def report_dropped(context: TaskContext, part: CatalogPart) -> None:
    """Name the relationships that do not hold for the part."""
    if not part.dropped:
        return
    names = list(map(str, part.dropped))
    for name in names:
        log.debug("a part of the catalog is applied without the relationship %s", name)
    is_detailed = context.settings.log_level == "debug"
    shown = names if is_detailed else names[:MAX_NAMED]
    rest = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    count = f"{len(names)} relationship{'s' if len(names) > 1 else ''}"
    context.say(f"{count} with resources outside this part of the catalog: {', '.join(shown)}{rest}")


def _selection(work: AnyCatalogWork) -> PartSelection:
    if isinstance(work, ManifestWork):
        return PartSelection()
    return PartSelection(tuple(work.tags), tuple(work.classes), tuple(work.stages))


def _is_cached(context: TaskContext, task: CheckedTask, entry: str) -> bool:
    version = task.order.catalogs[entry]
    if entry:
        return is_cached(context.root, entry, version)
    return catalog_path(context.root).exists() and digests.of_bytes(read_catalog(context.root)) == version


def _fetch(context: TaskContext, task: CheckedTask, entry: str, client: HttpClient) -> None:
    root, store, version = context.root, context.store, task.order.catalogs[entry]
    if entry:
        now = datetime.now(UTC)
        fetch_entry_catalog(root, context.settings.urls, client, entry, version, now=now, life=store.life)
        return
    fetched = fetch_and_note(root, context.settings.urls, client, store)
    if fetched.digest != version:
        raise _refusal(task, entry, f"{fetched.digest[:12]} is released now, since its plan was started")


def _refusal(task: CheckedTask, entry: str, reason: str) -> PrecastError:
    shown = f"{describe_catalog(entry)} {task.order.catalogs[entry][:12]} cannot be applied: {reason}"
    return issues.TASK_REFUSED.error(order=task.order.order, reason=shown)
