"""The role scheduler: what is done by the clock, or because somebody outside has called."""

from functools import partial

from precast.app.classification import classification
from precast.app.environments import environment_room
from precast.app.parts import Part
from precast.app.reports import report_retention, returner_service
from precast.app.runs import run_driver
from precast.app.settings import ServerSettings
from precast.services.catalogs.pruning import Pruning, Retention
from precast.services.code.content import Collection
from precast.services.facts.retention import FactRetention
from precast.store.catalogs import Catalogs
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.traces import Traces


def scheduled(database: Database, settings: ServerSettings, server_id: str) -> list[Part]:
    """Raises InputError ENV-024 or REPORT-004 for hooks or returners that cannot be used."""
    said, environments = classification(database, settings), environment_room(database, settings)
    parts = [
        FactRetention(database, Facts(database)).run,
        report_retention(database, settings).run,
        Collection(database, Blobs(database), Environments(database)).run,
        _pruning(database, settings).run,
        lambda: said.rules.run(server_id),
    ]
    returners, names = returner_service(database, settings)
    parts += [partial(returners.run, name, server_id) for name in names]
    parts.append(lambda: run_driver(database).run(server_id))
    if settings.hooks is not None:
        parts.append(lambda: environments.hooks.run(server_id))
    if (enc := said.enc) is not None:
        parts.append(lambda: enc.run(server_id))
    return parts


def _pruning(database: Database, settings: ServerSettings) -> Pruning:
    retention = Retention(settings.keep_traces, settings.keep_releases)
    return Pruning(database, Traces(database), Catalogs(database), Blobs(database), retention)
