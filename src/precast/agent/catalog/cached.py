"""The catalog that this node keeps: what it applies when no server can be asked, and what its own schedule applies."""

from pathlib import Path

from precast.agent.applying import issues
from precast.agent.state.places import STATE

NAME = "catalog.json"


def place(root: Path) -> Path:
    return root / STATE / NAME


def read(root: Path) -> bytes:
    """The catalog's document. Raises NotFoundError APPLY-005 if there is none, UnavailableError APPLY-006."""
    path = place(root)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise issues.NO_CATALOG.error(path=path) from None
    except OSError as error:
        raise issues.CATALOG_UNREADABLE.error(path=path, reason=error.strerror) from error
