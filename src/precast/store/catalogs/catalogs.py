"""All catalogs of one database, as services use them."""

from precast.store.catalogs import entries, entry_holds, released, staged
from precast.store.catalogs.documents import Documents
from precast.store.catalogs.entries import EntryCatalogs
from precast.store.catalogs.entry_holds import EntryHolds
from precast.store.catalogs.release_log import ReleaseLog
from precast.store.catalogs.released import ReleasedCatalogs
from precast.store.catalogs.staged import StagedCatalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction


class Catalogs:
    """The documents, the staged and the released catalogs, those of entry points, and the log of releases of one database."""

    def __init__(self, database: Database) -> None:
        self.documents = Documents(database)
        self.staged = StagedCatalogs()
        self.released = ReleasedCatalogs(database)
        self.entries = EntryCatalogs()
        self.holds = EntryHolds()
        self.log = ReleaseLog(database)


def delete_node_catalogs(node: str) -> Transaction[None]:
    """Delete the staged catalogs and all releases of a node, and what jobs hold of it."""
    yield from entries.delete_node(node)
    yield from entry_holds.delete_node(node)
    yield from staged.delete_node(node)
    yield from released.delete_node(node)
