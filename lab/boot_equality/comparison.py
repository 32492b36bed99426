"""Compares the two machines that one document of user data makes: equal, different on purpose, or not equal."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from lab.boot_equality import machines, observations
from lab.boot_equality.reasons import REASONS, Difference
from lab.debian_root import CLOUD_PLACE

EQUAL, ON_PURPOSE, NOT_EQUAL = VERDICTS = ("equal", "different on purpose", "not equal")


class Comparison(NamedTuple):
    """The differences between two machines that no reason explains, and the reasons for the others."""

    name: str
    unexplained: list[Difference]
    reasons: list[str]
    said: dict[str, Any]  # side → exit code and output of each command

    @property
    def verdict(self) -> str:
        return NOT_EQUAL if self.unexplained else ON_PURPOSE if self.reasons else EQUAL


def compare(base: Path, name: str, user_data: bytes) -> Comparison:
    """Boot one machine with each side below `base`, which has the repository, and compare them. Raises CalledProcessError."""
    place = base / name.replace("/", "_")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "user-data").write_bytes(user_data)
    try:
        ended = [subprocess.Popen(machines.enter(place / side, side)) for side in machines.SIDES]
        codes = [process.wait() for process in ended]
        if any(codes):
            raise subprocess.CalledProcessError(max(codes, key=abs), f"the machines of {name}")
        told = {side: json.loads((place / f"{side}.json").read_text()) for side in machines.SIDES}
    finally:
        for side in machines.SIDES:
            shutil.rmtree(place / side, ignore_errors=True)
    theirs, ours = (told[side]["seen"] for side in machines.SIDES)
    said = {side: told[side]["said"] for side in machines.SIDES}
    context = (user_data.decode(errors="replace"), json.dumps(said["cloud-init"]))
    unexplained, reasons = [], []
    for path in sorted(theirs.keys() | ours.keys()):
        sides = [seen.get(path) or observations.describe(CLOUD_PLACE, path) for seen in (theirs, ours)]
        if sides[0] != sides[1]:
            difference = Difference(path, sides[0], sides[1], *context)
            reason = next((reason for reason, explains in REASONS.items() if explains(difference)), None)
            if reason is None:
                unexplained.append(difference)
            else:
                reasons.append(reason)
    return Comparison(name, unexplained, list(dict.fromkeys(reasons)), said)


def prepare(base: Path) -> None:
    """Make the repository of packages, unless it exists."""
    if not (base / "repository").exists():
        machines.make_repository(base / "repository.new")
        (base / "repository.new").rename(base / "repository")
