"""All catalogs of one database, as services use them."""

from precast.store.catalogs import released, staged
from precast.store.catalogs.documents import Documents
from precast.store.catalogs.release_log import ReleaseLog
from precast.store.catalogs.released import ReleasedCatalogs
from precast.store.catalogs.staged import StagedCatalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction


class Catalogs:
    """The documents, the staged catalogs, the released catalogs and the log of releases of one database."""

    def __init__(self, database: Database) -> None:
        self.documents = Documents(database)
        self.staged = StagedCatalogs()
        self.released = ReleasedCatalogs(database)
        self.log = ReleaseLog(database)


def delete_node_catalogs(node: str) -> Transaction[None]:
    """Delete the staged catalog and all releases of a node."""
    yield from staged.delete_node(node)
    yield from released.delete_node(node)
