"""Generated catalogs applied by real Puppet and by Precast, each in a tree of its own: the trees, the verdicts and the words are equal.

A catalog has 90 resources over a tree of 57 entries. Both sides run it twice. All catalogs of a test go through one Ruby process.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.apply.comparison import Outcome, tree, with_precast, with_puppet
from tests.differential.apply.generator import MODULE, World

MODULES = Path("/usr/share/puppet/modules")  # where Debian has stdlib and concat
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of several owners")
BATCHES = [range(start, start + 4) for start in range(1, 33, 4)]


@pytest.fixture
def modules(tmp_path: Path) -> list[Path]:
    """A module path: ours, and of Debian's only what is needed, since each module's facts would be loaded."""
    for path, text in MODULE.items():
        place = tmp_path / "modules/given" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (tmp_path / "debian").mkdir()
    for name in ("stdlib", "concat"):
        if not (MODULES / name).is_dir():
            pytest.skip(f"needs puppet-module-puppetlabs-{name} (a Debian package)")
        (tmp_path / "debian" / name).symlink_to(MODULES / name)
    return [tmp_path / "modules", tmp_path / "debian"]


def laid(tmp_path: Path, seed: int, side: str) -> tuple[Path, Path]:
    """The tree and the catalog for one side."""
    pinned = {
        f"puppet:///modules/given/{path.removeprefix('files/')}": hashlib.sha256(text.encode()).hexdigest()
        for path, text in MODULE.items()
    }
    world, root, catalog = World(seed), tmp_path / f"{side}-{seed}", tmp_path / f"{side}-{seed}.json"
    world.lay(root)
    catalog.write_text(json.dumps(world.catalog(root, pinned)))
    return root, catalog


def differences(world: World, puppet: Outcome, ours: Outcome) -> Iterator[str]:
    for ref in sorted(puppet.messages.keys() | ours.messages.keys()):
        # Puppet's order of owner and group follows no rule that a user could know.
        if sorted(puppet.messages.get(ref, [])) != sorted(ours.messages.get(ref, [])):
            yield f"{ref}: Puppet {puppet.messages.get(ref)}, Precast {ours.messages.get(ref)}"
    if puppet.failed != ours.failed:
        yield f"failed: Puppet {sorted(puppet.failed)} {puppet.reasons}, Precast {sorted(ours.failed)} {ours.reasons}"
    # Of a concat Puppet skips the file it made; and it names classes and generated resources too.
    declared = {f"{each['type']}[{each['title']}]" for each in world.resources if not each["type"].startswith("Concat")}
    if puppet.skipped & declared != ours.skipped & declared:
        yield f"skipped: Puppet {sorted(puppet.skipped & declared)}, Precast {sorted(ours.skipped & declared)}"


@AS_ROOT
@pytest.mark.needs("ruby")
@pytest.mark.needs("puppet")
@pytest.mark.parametrize("seeds", BATCHES, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_precast_does_what_puppet_does(tmp_path: Path, modules: list[Path], seeds: range) -> None:
    asked = [laid(tmp_path, seed, "puppet") for seed in seeds]
    twice = [each for each in asked for _ in range(2)]
    answers = with_puppet(tmp_path / "puppet", modules, [catalog for _, catalog in twice], [root for root, _ in twice])
    wrong, changes, entries = [], 0, 0
    for number, seed in enumerate(seeds):
        world = World(seed)
        root, catalog = laid(tmp_path, seed, "precast")
        for run in range(2):
            answer = answers[2 * number + run]
            ours = with_precast(tmp_path / "state", modules, catalog, root)
            wrong += [f"seed {seed}, run {run + 1}: {text}" for text in differences(world, answer, ours)]
            changes += len(answer.messages)
        theirs, mine = tree(asked[number][0]), tree(root)
        entries += len(theirs)
        wrong += [
            f"seed {seed}: {path}: Puppet {theirs.get(path)}, Precast {mine.get(path)}"
            for path in sorted(theirs.keys() | mine.keys())
            if theirs.get(path) != mine.get(path)
        ]
        shutil.rmtree(root)
    assert wrong == [], "\n".join(wrong)
    print(f"{len(seeds)} catalogs: {changes} changed resources and {entries} entries of trees equal")
    # A generator that stops meeting anything would make this test worthless.
    assert changes > 15 * len(seeds)
    assert entries > 30 * len(seeds)
