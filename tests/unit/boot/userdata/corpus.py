"""Locates samples of cloud-init, which are not part of the project."""

import os
from pathlib import Path

import pytest


def cloud_init(part: str) -> Path:
    """A directory of the samples; the test is skipped if there are none."""
    place = os.environ.get("PRECAST_CORPORA")
    directory = Path(place) / "cloud-init" / part if place else None
    if directory is None or not directory.is_dir():
        pytest.skip(f"PRECAST_CORPORA names no directory with cloud-init/{part}")
    return directory
