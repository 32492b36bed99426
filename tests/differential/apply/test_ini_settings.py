"""ini_setting: generated files and settings, applied by the module inifile under real Puppet and by Precast: all bytes are equal.

Each file has one to three settings that are set or removed one after the other. One Ruby process applies all of them.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.differential.apply.comparison import with_precast, with_puppet
from tests.differential.apply.generator import placed

MODULES = Path("/usr/share/puppet/modules")  # where Debian has inifile
FILES = 400
SEEDS = (1, 2)
SECTIONS = ("", "one", "two words", "three")
SETTINGS = ("a", "b", "key two", "c.d")
# The first parts of files: comments and blank lines before the first section, with and without global settings.
HEADS = (
    "",
    "",
    "\n",
    "\n\n",
    "# comment\n",
    "a = 1\n",
    "a = 1\n\n",
    "\na = 1\nb=2\n\n\n",
    "; a = 5\n\n",
    "  a = 1\n# x\n",
)
BODIES = (
    "",
    "",
    "\n",
    "a = 1\n",
    "a = 1\nb = 2\n",
    "a=1  \n\n",
    "  a = 1\n  b = 2\n\n\n",
    "# a = 3\n",
    "\ta = 1\n\t# b = 2\n",
    "  #a = 3\n  c.d = 4\n",
    ";b = 3\nkey two = 1\n\n",
    "# only a comment\n\n",
    "a = 1\n\n# comment\nb = 2\n",
    "c.d = x = y\n",
    "a =\n",
    "just text\n",
)


def make_text(draw: random.Random) -> str:
    """The text of a file; without a line break at the end in some cases."""
    names = [name for name in SECTIONS if name and draw.random() < 0.5]
    text = draw.choice(HEADS) + "".join(f"[{name}]\n{draw.choice(BODIES)}" for name in names)
    return text.rstrip("\n") if draw.random() < 0.1 else text


def make_resources(draw: random.Random, number: int) -> list[dict[str, Any]]:
    resources = []
    wanted = draw.sample([(section, setting) for section in SECTIONS for setting in SETTINGS], draw.randint(1, 3))
    for at, (section, setting) in enumerate(wanted):
        parameters: dict[str, Any] = {"path": f"ROOT/{number}", "section": section, "setting": setting}
        if draw.random() < 0.35:
            parameters["ensure"] = "absent"
        else:
            parameters |= {"ensure": "present", "value": draw.choice(("1", "new", "two  words"))}
        if draw.random() < 0.1:
            parameters["key_val_separator"] = "="
        if draw.random() < 0.1:
            parameters["indent_width"] = 2
        if draw.random() < 0.1:
            parameters["indent_char"] = "\t"
        resources.append({"type": "Ini_setting", "title": f"{number} {at}", "parameters": parameters})
    return resources


def make_catalog(resources: list[dict[str, Any]], root: Path) -> Any:
    refs = [f"Ini_setting[{resource['title']}]" for resource in resources]
    data = {
        "name": "node",
        "version": "1",
        "environment": "production",
        "catalog_format": 2,
        "classes": ["main"],
        "tags": [],
        "resources": [
            {"type": "Stage", "title": "main", "parameters": {}, "tags": ["stage"]},
            {"type": "Class", "title": "main", "parameters": {}, "tags": ["class"]},
            *({"tags": ["ini_setting"], "kind": "compilable_type", **resource} for resource in resources),
        ],
        "edges": [
            {"source": "Stage[main]", "target": "Class[main]"},
            *({"source": "Class[main]", "target": ref} for ref in refs),
        ],
        "content": {},
    }
    return placed(data, str(root))


@pytest.mark.needs("ruby")
@pytest.mark.needs("puppet")
@pytest.mark.parametrize("seed", SEEDS)
def test_files_are_written_as_the_module_writes_them(tmp_path: Path, seed: int) -> None:
    if not (MODULES / "inifile").is_dir():
        pytest.skip("needs puppet-module-puppetlabs-inifile (a Debian package)")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules/inifile").symlink_to(MODULES / "inifile")
    draw = random.Random(seed)
    texts = {number: make_text(draw) if draw.random() < 0.95 else None for number in range(FILES)}
    resources = {number: make_resources(draw, number) for number in texts}
    for side in ("puppet", "precast"):
        root = tmp_path / side
        root.mkdir()
        for number, text in texts.items():
            if text is not None:
                (root / str(number)).write_text(text)
        catalog = make_catalog([each for one in resources.values() for each in one], root)
        (tmp_path / f"{side}.json").write_text(json.dumps(catalog))
    modules = [tmp_path / "modules"]
    (theirs,) = with_puppet(tmp_path / "state", modules, [tmp_path / "puppet.json"], [tmp_path / "puppet"])
    ours = with_precast(tmp_path / "ours", modules, tmp_path / "precast.json", tmp_path / "precast")
    wrong = []
    for number, text in texts.items():
        sides = [_read(tmp_path / side / str(number)) for side in ("puppet", "precast")]
        if sides[0] != sides[1]:
            given = [each["parameters"] for each in resources[number]]
            wrong.append(f"{text!r} with {given}:\n  Puppet  {sides[0]!r}\n  Precast {sides[1]!r}")
    assert not wrong, f"{len(wrong)} of {FILES} files differ\n" + "\n".join(wrong[:20])
    assert theirs.failed == ours.failed == frozenset()
    assert theirs.changed == ours.changed
    # A generator that changes nothing would make this test worthless.
    assert len(ours.changed) > FILES


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None
