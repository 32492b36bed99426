"""Builds what people may know about secrets, and what gives up secrets whose key is lost. Neither needs a key."""

from precast.api.secrets.references import SecretReferencesApi
from precast.app.database import opened
from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log
from precast.services.secrets.lost_keys import LostKeys
from precast.services.secrets.views import SecretViews
from precast.services.work_kinds import REDECIDE
from precast.store.catalogs.documents import Documents
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.keys import SecretKeys
from precast.store.secrets.secrets import Secrets


def build_secret_references_api(database: Database) -> SecretReferencesApi:
    stores = Secrets(database), SecretKeys(database), Documents(database), Environments(database)
    return SecretReferencesApi(SecretViews(database, *stores))


async def discard_secrets(settings: ServerSettings) -> dict[str, int]:
    """Give up all secrets of a site that does not run. Raises what `LostKeys.discard` raises."""
    async with opened(settings, may_create=False) as database:
        work, environments = WorkQueue(database, [REDECIDE]), Environments(database)
        stores = Secrets(database), SecretKeys(database), environments
        return await LostKeys(database, *stores, work, build_audit_log(database)).discard()
