"""The cached release pointer of this node, beside the catalog it names. `release_check` verifies it, in a short-lived process.

A new pointer is written before the catalog under another name, and gets its own name after it: whenever the machine stops, one of the two
names the catalog that is there.
"""

from pathlib import Path

import msgspec

from precast.agent.state.paths import NEXT_RELEASE, RELEASE, STATE
from precast.agent.state.store import LocalStore


def release_path(root: Path) -> Path:
    return root / STATE / RELEASE


def next_release_path(root: Path) -> Path:
    return root / STATE / NEXT_RELEASE


class AppliedRelease(msgspec.Struct, frozen=True):
    """The newest release that a run of this node has begun to apply; a note in the local store."""

    sequence: int
    digest: str


def applied_sequence(store: LocalStore) -> int:
    """The sequence of the newest release that a run has begun to apply; 0 if there was none."""
    applied = store.read_note(AppliedRelease)
    return 0 if applied is None else applied.sequence
