"""Files that are whole or not there: written beside their place, flushed, then named."""

import os
import tempfile
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Replace a file by one that only we may read (0600). A crash leaves the old one or the new one. Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=".precast-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
