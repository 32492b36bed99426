"""A cached catalog with the values of its secrets, for a run: they are put in only in the memory of the run.

Without a server, runs use the values for the time that the setting `keep_secrets` states, counted from when a server last confirmed the
catalog. After it, the resources that need a secret fail and all others are applied. Nothing is deleted for that reason, because this
machine's clock may be wrong: when it is right, or a server has confirmed the catalog again, the values are used again.
"""

from datetime import datetime, timedelta
from pathlib import Path

from precast.agent.catalog.cached_catalog import catalog_path, read_catalog
from precast.agent.catalog.cached_secrets import Values, read_values
from precast.agent.settings import AgentSettings
from precast.agent.state.life import life_locked
from precast.agent.state.status_notes import FetchNote
from precast.agent.state.store import LocalStore
from precast.base.clock_differences import format_moment
from precast.base.setting_values import show
from precast.catalog.document import CatalogDocument
from precast.catalog.secret_references import REFERENCE
from precast.catalog.secret_values import fill_secrets


def read_with_values(root: Path) -> tuple[bytes, Values]:
    """The cached catalog of this node with the values of its secrets, both of the same fetch. Raises as `read_catalog` does."""
    catalog = read_catalog(root)
    if REFERENCE.encode() not in catalog:
        return catalog, {}
    with life_locked(root):
        return read_catalog(root), read_values(catalog_path(root).parent)


def fill(document: CatalogDocument, values: Values, withheld: str = "") -> CatalogDocument:
    """The catalog with the values of its secrets, unless there is a reason to withhold them."""
    if withheld or not values:
        return document
    return document._replace(body=fill_secrets(document.body, {ref: value.value for ref, value in values.items()}))


def why_withheld(store: LocalStore, settings: AgentSettings) -> str:
    """Why runs may not use the values of the released catalog now; empty if they may."""
    note = store.read_note(FetchNote)
    confirmed_at, limit = None if note is None else note.checked_at, longest_use(settings)
    if confirmed_at is None or not is_too_old(confirmed_at, store.clock.now(), limit):
        return ""
    since = format_moment(confirmed_at)
    return f"no server has confirmed the catalog since {since}, which is longer than {show(limit)} (keep_secrets)"


def longest_use(settings: AgentSettings) -> timedelta:
    """How long values are used without a server: never so short that they would not be used between two fetches."""
    return max(settings.keep_secrets, 2 * settings.fetch_interval)


def is_too_old(confirmed_at: datetime, now: datetime, limit: timedelta) -> bool:
    return now - confirmed_at > limit
