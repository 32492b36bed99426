"""What happens to the exports of a node that is deactivated, reactivated, purged, or enrols again."""

from collections.abc import Mapping

from precast.services.exports.publishing import ExportPublisher, Publication
from precast.services.identity.issuance import NodeAdmission
from precast.store.catalogs.released import ReleasedCatalogs
from precast.store.engine.query import Transaction


class NodeExports:
    """Holds no state between calls."""

    def __init__(self, publisher: ExportPublisher, released: ReleasedCatalogs) -> None:
        self._publisher, self._released = publisher, released

    def withdraw(self, node: str) -> Transaction[None]:
        """Let a node export nothing."""
        yield from self._publisher.withdraw([node])

    def restore(self, node: str) -> Transaction[None]:
        """Let a node export what its served catalog says."""
        served = yield from self._released.find_served(node)
        if served is not None:
            yield from self._publisher.publish([Publication(node, served.environment, served.skeleton, served.fill)])

    def delete_node(self, node: str) -> Transaction[None]:
        """Delete what is stored about the exports of a node."""
        yield from self._publisher.delete_node(node)


class ExportAdmission:
    """Admits a node that has got a certificate: one that enrols again exports what its served catalog says."""

    def __init__(self, admission: NodeAdmission, exports: NodeExports) -> None:
        self._admission, self._exports = admission, exports

    def admit(self, node: str, extensions: Mapping[str, str]) -> Transaction[None]:
        yield from self._admission.admit(node, extensions)
        yield from self._exports.restore(node)
