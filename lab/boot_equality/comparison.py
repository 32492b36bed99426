"""Compares the two machines that one document of user data makes: equal, different on purpose, or not equal."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lab.boot_equality import machines, observations
from lab.boot_equality.reasons import REASONS, Difference
from lab.debian_root import CLOUD_PLACE

EQUAL, ON_PURPOSE, NOT_EQUAL = VERDICTS = ("equal", "different on purpose", "not equal")
_WITHOUT = (machines.IMAGE, "cloud-init")  # the machines without user data: not booted, and booted by cloud-init


class Comparison(NamedTuple):
    """The differences between two machines that no reason explains, and the others with their reasons."""

    name: str
    unexplained: list[Difference]
    explained: list[tuple[str, Difference]]
    said: dict[str, Any]  # side → exit code and output of each command

    @property
    def reasons(self) -> list[str]:
        return list(dict.fromkeys(reason for reason, _ in self.explained))

    @property
    def verdict(self) -> str:
        return NOT_EQUAL if self.unexplained else ON_PURPOSE if self.reasons else EQUAL


def compare(base: Path, name: str, user_data: bytes) -> Comparison:
    """Boot one machine with each side below `base`, which `prepare` made, and compare them. Raises CalledProcessError."""
    place = base / name.replace("/", "_")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "user-data").write_bytes(user_data)
    told = _run_sides(place, machines.SIDES)
    observed = [told[side]["seen"] for side in machines.SIDES]
    observed += [json.loads((base / "without" / f"{side}.json").read_text())["seen"] for side in _WITHOUT]
    said = {side: told[side]["said"] for side in machines.SIDES}
    context = (user_data.decode(errors="replace"), json.dumps(said["cloud-init"]))
    unexplained, explained = [], []
    for path in sorted(observed[0].keys() | observed[1].keys()):
        theirs, ours, image, void = (seen.get(path) or observations.describe(CLOUD_PLACE, path) for seen in observed)
        if theirs != ours:
            difference = Difference(path, theirs, ours, *context, image, void)
            reason = next((reason for reason, explains in REASONS.items() if explains(difference)), None)
            if reason is None:
                unexplained.append(difference)
            else:
                explained.append((reason, difference))
    return Comparison(name, unexplained, explained, said)


def prepare(base: Path) -> None:
    """Make the repository of packages and observe machines without user data, unless that is done."""
    if not (base / "repository").exists():
        machines.make_repository(base / "repository.new")
        (base / "repository.new").rename(base / "repository")
    if not (base / "without" / f"{_WITHOUT[-1]}.json").exists():
        (base / "without").mkdir(exist_ok=True)
        (base / "without/user-data").write_bytes(b"")
        _run_sides(base / "without", _WITHOUT)


def _run_sides(place: Path, sides: Sequence[str]) -> dict[str, Any]:
    """Run a machine for each side, at the same time, and return what each told."""
    try:
        ended = [subprocess.Popen(machines.enter(place / side, side)) for side in sides]
        codes = [process.wait() for process in ended]
        if any(codes):
            raise subprocess.CalledProcessError(max(codes, key=abs), f"the machines of {place.name}")
        return {side: json.loads((place / f"{side}.json").read_text()) for side in sides}
    finally:
        for side in sides:
            shutil.rmtree(place / side, ignore_errors=True)
