"""Builds the sources of secrets that a server's configuration names, and the services that ask them."""

import asyncio
import functools
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from precast.api.http.outgoing import HttpsOrigin
from precast.api.secrets.sources import SecretSourcesApi
from precast.app.settings import ServerSettings
from precast.app.shared_services import BackgroundTask, build_audit_log
from precast.base.errors import PrecastError
from precast.services.secrets.keyring import Keyring
from precast.services.secrets.sources import issues
from precast.services.secrets.sources.asking import SecretAsker
from precast.services.secrets.sources.configuration import SourceSettings, load_sources
from precast.services.secrets.sources.documents import SecretDocuments
from precast.services.secrets.sources.files import FileSource
from precast.services.secrets.sources.service import SecretSourceService
from precast.services.secrets.sources.source import SecretSource
from precast.services.secrets.sources.vault import VaultSource
from precast.services.work_kinds import ASK_SECRET, DECIDE, REDECIDE, SPREAD_SECRET
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.source_documents import SourceDocuments

log = logging.getLogger("precast.secrets")

MAINTAIN_EVERY_S = 60.0


class SourceComponents(NamedTuple):
    """What compiles read from sources, and the tasks that ask these."""

    documents: SecretDocuments
    background: list[BackgroundTask]


def configured_sources(settings: ServerSettings) -> dict[str, SourceSettings]:
    """The sources that the configuration names. Raises InputError SECRET-020: the server does not start rather than deny secrets."""
    return {} if settings.secret_sources is None else load_sources(settings.secret_sources)


def build_source_components(
    database: Database, settings: ServerSettings, server_id: str, resources: AsyncExitStack, keyring: Keyring
) -> SourceComponents:
    """Closing `resources` closes the connections to the sources. Raises InputError SECRET-020."""
    configured = configured_sources(settings)
    sources = {name: _build_source(database, settings, name, source, resources) for name, source in configured.items()}
    store, work = SourceDocuments(database), WorkQueue(database, [ASK_SECRET, SPREAD_SECRET, DECIDE])
    documents = SecretDocuments(database, store, configured, keyring.keys, work)
    asker = SecretAsker(database, store, configured, sources, keyring.keys, work)
    return SourceComponents(documents, [lambda: asker.run(server_id), functools.partial(_maintain, sources)])


def build_secret_sources_api(database: Database, settings: ServerSettings) -> SecretSourcesApi:
    """Raises InputError SECRET-020."""
    stores = SourceDocuments(database), configured_sources(settings), Environments(database)
    work = WorkQueue(database, [ASK_SECRET, REDECIDE])
    return SecretSourcesApi(SecretSourceService(database, *stores, work, build_audit_log(database)))


def _build_source(
    database: Database, settings: ServerSettings, name: str, source: SourceSettings, resources: AsyncExitStack
) -> SecretSource:
    if source.kind == "file":
        return FileSource(name, Path(source.directory))
    try:
        origin = HttpsOrigin(source.url, source.ca, source.timeout_s)
    except OSError as error:
        reason = f"{name}: {source.ca} is not a file of certificates: {error.strerror or error}"
        raise issues.BAD_SOURCES.error(path=settings.secret_sources, reason=reason) from None
    resources.push_async_callback(origin.close)
    return VaultSource(name, source, origin.request, database.clock)


async def _maintain(sources: Mapping[str, SecretSource]) -> None:
    """Keep the logins of sources valid, also while nothing is asked for."""
    while True:
        for source in sources.values():
            try:
                await source.maintain()
            except PrecastError as error:
                log.debug("%s [%s]", error.message, error.code)  # the next request reports it
        await asyncio.sleep(MAINTAIN_EVERY_S)
