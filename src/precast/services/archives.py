"""Unpacks archives that others have made: whatever they hold, it stays below its directory and is a file, a directory or a link."""

import platform
import tarfile
from collections.abc import Sequence
from pathlib import Path

from precast.services import issues

# Python has it from 3.11.4 on, and distributions that mended an older one.
CAN_UNPACK = hasattr(tarfile, "data_filter")


def unpack(archive: tarfile.TarFile, members: Sequence[tarfile.TarInfo], target: Path) -> None:
    """Write members below a directory. Raises as tarfile does, and InputError ARCHIVE-001 where Python cannot do it safely."""
    if not CAN_UNPACK:
        raise issues.OLD_PYTHON.error(version=platform.python_version())
    archive.extractall(target, members, filter="data")
