"""Who has their turn when, who is refreshed, who is skipped: generated graphs of commands, run by real Puppet and by Precast.

Each case is a class of its own with a log of its own, so one run of Puppet answers hundreds of them. A command writes its name into
the log; the logs of both must be equal, line by line, and so must what a second run does.
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PRECAST = str(Path(sys.executable).with_name("precast"))
CASES = int(os.environ.get("PRECAST_TURNS", "100"))
DEADLINE_S = 300.0
LOG = "@LOG@"

pytestmark = pytest.mark.skipif(shutil.which("puppet") is None, reason="real Puppet is not installed (puppet-agent)")


class Case:
    """One graph: commands in classes and defines, with relationships from earlier to later ones, so that there is no cycle."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.number = number
        self._chance = chance
        self._names = [f"c{number}_{index}" for index in range(chance.randint(2, 7))]
        # By command: the container it is in. Containers are numbered too, and hold neighbours, so that they can be ordered.
        inside = sorted(chance.choice([0, 0, 1, 2]) for _ in self._names)
        self._inside = dict(zip(self._names, inside, strict=True))
        self.manifest = self._manifest()

    def _manifest(self) -> str:
        bodies: dict[int, list[str]] = {0: [], 1: [], 2: []}
        for index, name in enumerate(self._names):
            bodies[self._inside[name]].append(self._command(index, name))
        one, two = f"case{self.number}_one", f"case{self.number}_two"
        parts = [
            f"class {one} {{\n{chr(10).join(bodies[1])}\n}}",
            f"define {two}() {{\n{chr(10).join(bodies[2])}\n}}",
            f"class case{self.number} {{\n{chr(10).join(bodies[0])}\n  contain {one}\n  {two} {{ 'x{self.number}': }}\n}}",
            f"include case{self.number}",
        ]
        return "\n".join(parts) + "\n"

    def _command(self, index: int, name: str) -> str:
        chance = self._chance
        result = "false" if chance.random() < 0.15 else "true"
        lines = [f"command => '/bin/sh -c \"echo {name} >> {LOG}; {result}\"'"]
        if chance.random() < 0.3:
            lines.append("refreshonly => true")
        elif chance.random() < 0.3:
            guard = chance.choice(["onlyif", "unless"])
            lines.append(
                f"{guard} => '/bin/sh -c \"echo {guard} {name} >> {LOG}; test -s {LOG}.{chance.choice(self._names)}\"'"
            )
        elif chance.random() < 0.2:
            lines.append(f"creates => '{LOG}'")
        if chance.random() < 0.2:
            lines.append(f"refresh => '/bin/sh -c \"echo refresh {name} >> {LOG}; echo x > {LOG}.{name}\"'")
        if chance.random() < 0.1:
            lines.append("noop => true")
        lines += self._relations(index)
        body = ",\n    ".join(lines)
        return f"  exec {{ '{name}':\n    {body},\n  }}"

    def _relations(self, index: int) -> Iterator[str]:
        chance = self._chance
        found: dict[str, list[str]] = {}
        for _ in range(chance.randint(0, 2)):
            relation = chance.choice(["before", "notify", "require", "subscribe"])
            others = self._names[index + 1 :] if relation in ("before", "notify") else self._names[:index]
            if others:
                found.setdefault(relation, []).append(self._reference(index, chance.choice(others)))
        for relation, targets in found.items():
            yield f"{relation} => [{', '.join(dict.fromkeys(targets))}]"

    def _reference(self, index: int, other: str) -> str:
        around = self._inside[other]
        if around and around != self._inside[self._names[index]] and self._chance.random() < 0.5:
            return f"Class['case{self.number}_one']" if around == 1 else f"Case{self.number}_two['x{self.number}']"
        return f"Exec['{other}']"


def written(cases: list[Case], place: Path) -> Path:
    """The manifest of all cases, with logs in a directory."""
    place.mkdir()
    text = "".join(case.manifest.replace(LOG, str(place / f"case{case.number}")) for case in cases)
    manifest = place / "site.pp"
    manifest.write_text(text)
    return manifest


def logs(place: Path, cases: list[Case]) -> dict[int, list[str]]:
    """What each case has written since the last look."""
    found = {}
    for case in cases:
        log = place / f"case{case.number}"
        found[case.number] = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
    return found


def by_puppet(place: Path, manifest: Path) -> None:
    modules = place / "modules"
    modules.mkdir(exist_ok=True)
    own = {"confdir": place / "conf", "vardir": place / "var", "rundir": place / "run", "modulepath": modules}
    options = [word for name, path in own.items() for word in (f"--{name}", str(path))]
    done = subprocess.run(
        ["puppet", "apply", "--color=false", "--no-report", *options, str(manifest)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert "Applied catalog" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]


def by_precast(place: Path, manifest: Path, *options: str) -> None:
    words = [PRECAST, "apply", str(manifest), "--state", str(place / "state"), *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode in (0, 4), done.stderr


@pytest.mark.timeout(600)
def test_turns_refreshes_and_skips_are_puppets(tmp_path: Path) -> None:
    seed = int(os.environ.get("PRECAST_SEED", "20261116"))
    chance = random.Random(seed)
    cases = [Case(number, chance) for number in range(CASES)]
    puppets, ours = tmp_path / "puppet", tmp_path / "precast"
    manifests = written(cases, puppets), written(cases, ours)
    for options in ((), ("--serial",)):
        by_puppet(puppets, manifests[0])
        by_precast(ours, manifests[1], *options)
        theirs, found = logs(puppets, cases), logs(ours, cases)
        wrong = {number: (theirs[number], found[number]) for number in theirs if theirs[number] != found[number]}
        count = sum(len(lines) for lines in theirs.values())
        print(f"\n{CASES} graphs, {count} commands and guards, {len(wrong)} differ (seed {seed}, {options or 'fast'})")
        shown = {number: (*pair, cases[number].manifest) for number, pair in list(wrong.items())[:2]}
        assert not wrong, "\n".join(
            f"case {number}\npuppet {a}\nours   {b}\n{text}" for number, (a, b, text) in shown.items()
        )
