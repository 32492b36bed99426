"""The cached catalog of this node: runs apply it when no server can be reached, and on the agent's own schedule."""

from pathlib import Path

from precast.agent.applying import issues
from precast.agent.state.paths import CATALOG, STATE


def catalog_path(root: Path) -> Path:
    return root / STATE / CATALOG


def read_catalog(root: Path) -> bytes:
    """Read the catalog's document. Raises NotFoundError APPLY-005 if there is none, UnavailableError APPLY-006."""
    path = catalog_path(root)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise issues.NO_CATALOG.error(path=path) from None
    except OSError as error:
        raise issues.CATALOG_UNREADABLE.error(path=path, reason=error.strerror) from error
