"""Where samples of cloud-init are, which are not part of the project."""

import os
from pathlib import Path

import pytest


def cloud_init(part: str) -> Path:
    """A directory of the samples; the test is skipped where there are none."""
    place = os.environ.get("PRECAST_CORPORA")
    found = Path(place) / "cloud-init" / part if place else None
    if found is None or not found.is_dir():
        pytest.skip(f"PRECAST_CORPORA names no directory with cloud-init/{part}")
    return found
