"""Types of OpenStack's modules that are settings of a file: applied by these modules under real Puppet and by Precast, to equal bytes.

The modules are copies with other paths, so that each side has files of its own. Precast compiles the manifest, so the test also covers
how the compiler recognises the types. Left out is what the modules get wrong: they remove one line of a setting with several, lose lines
of sections that occur twice, and cannot remove a setting with `quote`. Where a setting that is to stay as it is does not exist, some
providers of them fail; Precast leaves it alone.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from precast.catalog.envelope import seal
from tests.differential.apply.comparison import Outcome, tree, with_precast, with_puppet
from tests.unit.lang.small_manifests import compiled

MODULES = Path("/usr/share/puppet/modules")
PARENTS = ("inifile", "openstacklib", "stdlib")
SEEDS = (1, 2)
SECTIONS = ("DEFAULT", "database", "keystone_authtoken", "new")
SETTINGS = ("debug", "connection", "auth url", "x.y")
VALUES: tuple[Any, ...] = (
    "true", "FALSE", True, False, 5, "1", " two  words ", "a = b", "it's", 'say "x"', "#{x} \\ $y", "<SERVICE DEFAULT>",
    "<_IMMUTABLE_>", "",
)  # fmt: skip
LISTS: tuple[Any, ...] = (["a", "b"], ["b", "1"], ["1"], [True, "x"], ["<SERVICE DEFAULT>"], ["<_IMMUTABLE_>"], [1, 5])
HEADS = ("", "", "\n", "# comment\n", "debug = 1\n\n")
BODIES = (
    "",
    "\n",
    "debug = true\n",
    "debug=1\nconnection = 5\n\n",
    "  debug = 1  \n  #connection = x\n\n\n",
    "#debug = false\n#connection = <None>\n\n",
    "; debug = 3\nx.y = a = b\n",
    "\tauth url = 1\n\t# x.y = 2\n",
    "# only a comment\n",
    "debug =\nconnection=\n",
    "just text\n",
)
REPEATED = (
    "debug = a\ndebug = b\n",
    "debug=a\nconnection = x\ndebug=1\n# debug = c\n",
    "x.y = b\n\n  x.y=1\n  x.y = c\n",
)


def config_types() -> dict[str, str]:
    """The module of each type whose attributes are those of the family, by the type's name."""
    return {
        path.stem: path.parents[3].name
        for path in sorted(MODULES.glob("*/lib/puppet/type/*.rb"))
        if "ensure_absent_val" in path.read_text() or path.stem == "ceph_config"
    }


def module_files(root: Path, modules: set[str]) -> dict[str, str]:
    """The Ruby files of modules by their paths, with every path below /etc moved below a root."""
    places = [
        place
        for module in sorted(modules)
        for place in (MODULES / module / "lib").rglob("*.rb")
        if "/puppet/functions/" not in str(place) and "/facter/" not in str(place)
    ]
    return {
        f"modules/{place.relative_to(MODULES)}": place.read_text().replace("'/etc/", f"'{root}/etc/")
        for place in places
    }


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def paths_of(files: dict[str, str], names: dict[str, str], root: Path) -> Iterator[tuple[str, str]]:
    """Each type with the relative path of the file that its provider names."""
    for name, module in names.items():
        providers = [text for path, text in files.items() if f"{module}/lib/puppet/provider/{name}/" in path]
        for line in "\n".join(providers).splitlines():
            if line.strip().startswith(f"'{root}/etc/"):
                yield name, line.strip().strip("'").removeprefix(f"{root}/")
                break


def make_text(draw: random.Random, is_multiple: bool) -> str:
    """The text of a file; without a line break at the end in some cases. No section occurs twice."""
    sections = [section for section in SECTIONS[:3] if draw.random() < 0.6]
    bodies = (*BODIES, *REPEATED) if is_multiple else BODIES
    text = draw.choice(HEADS) + "".join(f"[{section}]\n{draw.choice(bodies)}" for section in sections)
    return text.rstrip("\n") if draw.random() < 0.1 else text


def quote(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(quote, value))}]"
    if isinstance(value, bool | int):
        return str(value).lower()
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def make_resource(draw: random.Random, name: str, title: str, is_multiple: bool, type_text: str) -> str:
    parameters: dict[str, Any] = {}
    chance = draw.random()
    # A multiple setting that exists is not removed here: the modules remove only one of its lines.
    if chance < 0.25 and not is_multiple:
        parameters["ensure"] = "absent"
    elif chance < 0.6:
        parameters["ensure"] = "present"
    if "ensure" not in parameters or parameters["ensure"] == "present":
        values = [*VALUES, *LISTS] if is_multiple else VALUES
        parameters["value"] = draw.choice(
            [each for each in values if not is_multiple or "<SERVICE DEFAULT>" not in (each, *as_list(each))]
        )
    if "newparam(:secret" in type_text and draw.random() < 0.2:
        parameters["secret"] = True
    if "newparam(:quote" in type_text and "value" in parameters and draw.random() < 0.5:
        parameters["quote"] = True
    if "newparam(:ensure_absent_val" in type_text and draw.random() < 0.1:
        parameters["ensure_absent_val"] = "1" if not is_multiple else "nothing"
    if "newparam(:key_val_separator" in type_text and draw.random() < 0.3:
        parameters["key_val_separator"] = " = "
    given = ", ".join(f"{key} => {quote(value)}" for key, value in parameters.items())
    return f"{name} {{ {quote(title)}: {given} }}\n"


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


class Site:
    """One draw: the files and the manifest, for both sides."""

    def __init__(self, place: Path, seed: int) -> None:
        self.place = place
        draw = random.Random(seed)
        names = config_types()
        self.modules = {*names.values(), *PARENTS}
        anywhere = module_files(Path("ROOT"), self.modules)
        self.paths = dict(paths_of(anywhere, names, Path("ROOT")))
        by_type = {Path(path).stem: text for path, text in anywhere.items() if "/puppet/type/" in path}
        self.texts: dict[str, str] = {}
        self.code = ""
        for name, path in self.paths.items():
            is_multiple = ":array_matching" in by_type[name]
            if draw.random() < 0.9:
                self.texts[path] = make_text(draw, is_multiple)
            has_sections = "newparam(:quote" not in by_type[name]
            titles = [f"{section}/{setting}" for section in SECTIONS for setting in SETTINGS]
            for title in draw.sample(titles if has_sections else list(SETTINGS), 3):
                self.code += make_resource(draw, name, title, is_multiple, by_type[name])

    def prepare(self, side: str) -> tuple[Path, Path, Path]:
        """The module path, the catalog and the root of one side."""
        root = self.place / side
        files = module_files(root, self.modules)
        write(self.place / f"{side}.code", files)
        for path in self.paths.values():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
        write(root, self.texts)
        result = compiled(self.code, files)
        sealed = seal(result.body, result.body.digest(), name="node", environment="production", code_id=None)
        for resource in sealed["resources"]:
            if resource["type"].lower() in self.paths:
                resource["kind"] = "compilable_type"  # Puppet takes a type that it does not have built in for a define
        catalog = self.place / f"{side}.json"
        catalog.write_text(json.dumps(sealed))
        return self.place / f"{side}.code/modules", catalog, root


@pytest.mark.needs("ruby")
@pytest.mark.needs("puppet")
@pytest.mark.parametrize("seed", SEEDS)
def test_settings_are_written_as_the_modules_write_them(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (MODULES / "nova").is_dir():
        pytest.skip("needs openstack-puppet-modules (a Debian package)")
    site = Site(tmp_path, seed)
    modules, catalog, root = site.prepare("puppet")
    # Providers require files of other modules, which pluginsync would put into one place.
    monkeypatch.setenv("RUBYLIB", ":".join(str(place) for place in modules.glob("*/lib")))
    theirs, theirs_again = with_puppet(tmp_path / "state", [modules], [catalog, catalog], [root, root])
    modules, catalog, root = site.prepare("precast")
    types = json.loads(catalog.read_text())["types"]
    ours = with_precast(tmp_path / "ours", [modules], catalog, root)
    ours_again = with_precast(tmp_path / "ours", [modules], catalog, root)
    # Of 125 types, those whose provider never reads what it writes are not applied.
    assert len(types) >= 115
    unknown = {name for name in site.paths if name not in types}
    differing = differing_messages(theirs, ours, unknown)
    assert not differing, f"{len(differing)} resources differ\n" + "\n".join(differing[:20])
    wrong = differing_files(site, types)
    assert not wrong, f"{len(wrong)} files differ\n" + "\n".join(wrong[:10])
    assert {ref for ref in theirs_again.changed if _type(ref) not in unknown} == ours_again.changed == set()
    assert len(ours.changed) > 150
    first, second = (tree(tmp_path / side) for side in ("puppet", "precast"))
    assert {path: seen[:3] for path, seen in first.items()} == {path: seen[:3] for path, seen in second.items()}


def differing_messages(theirs: Outcome, ours: Outcome, unknown: set[str]) -> list[str]:
    refs = sorted({*theirs.messages, *ours.messages, *theirs.failed, *ours.failed})
    return [
        f"{ref}:\n  Puppet  {_shown(theirs, ref)}\n  Precast {_shown(ours, ref)}"
        for ref in refs
        if _type(ref) not in unknown
        and f"{ref}: Got nil value for value" not in theirs.reasons
        and (theirs.messages.get(ref), ref in theirs.failed) != (ours.messages.get(ref), ref in ours.failed)
    ]


def _shown(outcome: Outcome, ref: str) -> object:
    return outcome.messages.get(ref) or [reason for reason in outcome.reasons if reason.startswith(ref)]


def differing_files(site: Site, types: dict[str, Any]) -> list[str]:
    wrong = []
    for name, path in site.paths.items():
        sides = [site.place / side / path for side in ("puppet", "precast")]
        texts = [side.read_text() if side.exists() else None for side in sides]
        if name in types and texts[0] != texts[1]:
            lines = [line for line in site.code.splitlines() if line.startswith(f"{name} ")]
            wrong.append(f"{site.texts.get(path)!r} with {lines}:\n  Puppet  {texts[0]!r}\n  Precast {texts[1]!r}")
    return wrong


def _type(ref: str) -> str:
    return ref.partition("[")[0].lower()
