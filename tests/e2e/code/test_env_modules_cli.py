"""`precast env` as a person uses it: modules from a Puppetfile, their missing dependencies, and the facts they expect."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PRECAST = Path(sys.executable).with_name("precast")
METADATA = {
    "name": "site-thing", "version": "1.2.3", "author": "site", "license": "none", "summary": "x", "source": "x",
    "dependencies": [{"name": "site/base", "version_requirement": ">= 1.0.0"}],
}  # fmt: skip


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    work = tmp_path / "thing"
    (work / "manifests").mkdir(parents=True)
    (work / "manifests/init.pp").write_text("class thing { gadget { 'x': level => 3 } }\n")
    (work / "metadata.json").write_text(json.dumps(METADATA))
    (work / "lib/puppet/type").mkdir(parents=True)
    (work / "lib/puppet/type/gadget.rb").write_text(
        "Puppet::Type.newtype(:gadget) do\n @doc = 'A gadget.'\n newparam(:name)\n"
        " newproperty(:level) { desc 'how much'; defaultto 1 }\nend\n"
    )
    (work / "lib/puppet/functions/thing").mkdir(parents=True)
    (work / "lib/puppet/functions/thing/frob.rb").write_text("# Ruby\n")
    (work / "lib/facter").mkdir()
    (work / "lib/facter/thing.rb").write_text(
        "Facter.add(:thing_version) { setcode { 1 } }\n%w[os rack].each do |name|\n Facter.add(name) { }\nend\n"
        "Facter.add(:hard) { setcode { Augeas.open('/') } }\nFacter.add(computed) do\nend\n"
    )
    (work / "precast/facts").mkdir(parents=True)
    (work / "precast/facts/rack.py").write_text("def facts():\n    return {'rack': {'row': 4}}\n")
    git(work, "init", "--quiet", "--initial-branch=main")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message=x")
    place = tmp_path / "env"
    (place / "manifests").mkdir(parents=True)
    (place / "manifests/site.pp").write_text("include thing\n")
    (place / "Puppetfile").write_text("mod 'thing', :git => '../thing', :branch => 'main'\n")
    return place


def git(place: Path, *words: str) -> None:
    identity = {f"GIT_{who}_{what}": "a@example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", "-C", str(place), *words], env={**os.environ, **identity}, check=True)


def precast(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PRECAST, *arguments],
        cwd=place,
        env={**os.environ, "XDG_CACHE_HOME": str(place.parent / "cache")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_puppetfile_is_installed_and_its_modules_compile(environment: Path) -> None:
    done = precast(environment, "env", "modules", "install")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split()[:3] == ["thing", "modules/thing", "installed"]
    again = precast(environment, "env", "modules", "install", "--json")
    assert [each["change"] for each in json.loads(again.stdout)] == ["unchanged"]
    compiled = precast(environment, "compile", "--environment", ".", "--node", "a.example")
    assert compiled.returncode == 0
    assert (
        "only if it has a Puppet, and its facts do not say whether it has one: gadget [CATALOG-007]" in compiled.stderr
    )
    assert compiled.stdout.splitlines()[1].split() == ["Gadget[x]", "modules/thing/manifests/init.pp:1"]
    shown = precast(environment, "doc", "type", "gadget", "--environment", ".").stdout
    assert "how much [default: 1]" in shown


def test_modules_are_listed_and_missing_dependencies_are_named(environment: Path) -> None:
    precast(environment, "env", "modules", "install")
    listed = json.loads(precast(environment, "env", "modules", "list", "--json").stdout)
    assert [(each["name"], each["version"], each["path"]) for each in listed] == [("thing", "1.2.3", "modules/thing")]
    checked = precast(environment, "env", "modules", "check")
    assert checked.returncode == 1
    assert "thing   needs base >= 1.0.0, which is missing" in checked.stdout
    assert "the function thing::frob cannot run" in checked.stdout
    assert "thing   gadget  bridged  -" in checked.stdout
    assert "the fact hard cannot be read: modules/thing/lib/facter/thing.rb:5: Augeas.open" in checked.stdout
    (environment / "modules/thing/new").write_text("x")
    changed = json.loads(precast(environment, "env", "modules", "check", "--json").stdout)
    assert {"module": "thing", "problem": "it was changed since it was installed"} in changed["problems"]


def test_types_say_how_they_are_applied_and_what_of_their_code_does_not_run(environment: Path) -> None:
    precast(environment, "env", "modules", "install")
    lib = environment / "modules/thing/lib/puppet"
    (lib / "type/gauge.rb").write_text(
        "Puppet::Type.newtype(:gauge) do\n newparam(:name)\n newparam(:x) do\n"
        "  validate { |value| Net::HTTP.get(value) }\n  def is_to_s(value)\n   value.frobnicate\n  end\n end\nend\n"
    )
    (lib / "type/other.rb").write_text("Puppet::Type.newtype(:another) { newparam(:name) }\n")
    (lib / "provider/package").mkdir(parents=True)
    (lib / "provider/package/brew.rb").write_text("Puppet::Type.type(:package).provide(:brew) { }\n")
    (environment / "modules/thing/precast/types").mkdir(parents=True)
    (environment / "modules/thing/precast/types/plug.py").write_text("")
    types = json.loads(precast(environment, "env", "modules", "check", "--json").stdout)["types"]
    base = "modules/thing/lib/puppet"
    assert [(each["name"], each["how"], each["not_run"]) for each in types] == [
        ("gadget", "bridged", []),
        ("gauge", "bridged", [f"{base}/type/gauge.rb:4: Net::HTTP.get"]),
        ("other", "not there", [f"{base}/type/other.rb:1: the file does not declare it"]),
        ("plug", "native", []),
        (
            "package, provider brew",
            "not there",
            [
                f"{base}/provider/package/brew.rb:1: Precast applies the type package itself, without providers of modules"
            ],
        ),
    ]
    listed = json.loads(precast(environment, "doc", "types", "--environment", ".", "--json").stdout)
    applied = {each["name"]: each.get("applied") for each in listed}
    assert (applied["gadget"], applied["file"], applied["plug"]) == ("bridged", "native", "native")
    assert "Bridged: nodes apply it" in precast(environment, "doc", "type", "gadget", "--environment", ".").stdout


def test_value_that_a_type_refuses_fails_the_compile_after_the_catalog(environment: Path) -> None:
    precast(environment, "env", "modules", "install")
    type_file = environment / "modules/thing/lib/puppet/type/gadget.rb"
    type_file.write_text(type_file.read_text().replace("defaultto 1", "newvalues(:low)"))
    compiled = precast(environment, "compile", "--environment", ".", "--node", "a.example")
    assert compiled.returncode != 0
    assert "Gadget[x]" in compiled.stdout
    assert (
        "error: Parameter level failed on Gadget[x]: Invalid value 3. Valid values are low. [LANG-791]"
        in compiled.stderr
    )
    (root := environment.parent / "root").mkdir()
    applied = precast(environment, "apply", "--environment", ".", "--root", str(root), "--noop")
    assert "[LANG-791]" in applied.stderr


def test_facts_of_modules_are_listed_with_what_replaces_them(environment: Path) -> None:
    precast(environment, "env", "modules", "install")
    rows = json.loads(precast(environment, "env", "facts", "--json").stdout)
    assert [(each["fact"], each["how"], each["is_open"]) for each in rows] == [
        ("thing_version", "nodes read the Ruby file", False),
        ("os", "Precast collects it", False),
        ("rack", "thing/precast/facts/rack.py", False),
        (
            "hard",
            "cannot be read (lib/facter/thing.rb:5: Augeas.open): write hard.py in thing/precast/facts",
            True,
        ),
        ("?", "nodes read the Ruby file", False),
    ]
    assert rows[0]["place"] == "lib/facter/thing.rb:1"


def test_fact_of_a_module_is_collected_as_on_a_node(environment: Path) -> None:
    precast(environment, "env", "modules", "install")
    done = precast(environment, "facts", "local", "--environment", ".", "--plugins", ".", "rack.row")
    assert (done.returncode, done.stdout) == (0, "4\n")
    done = precast(environment, "facts", "local", "--environment", ".", "thing_version")
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "the fact hard needs more of Ruby than this node runs" in done.stderr
    done = precast(environment, "facts", "local", "--modulepath", "modules", "thing_version")
    assert (done.returncode, done.stdout) == (0, "1\n")
    code = "notify { \"version ${facts['thing_version'] + 1}\": }"
    done = precast(environment, "apply", "--environment", ".", "--state", "state", "--no-diff", "-e", code)
    assert "version 2" in done.stdout


@pytest.mark.parametrize(
    ("puppetfile", "code", "word"),
    [
        (None, "MODULE-020", "Puppetfile does not exist"),
        ("mod 'a/b', '1.0.0'\n", "MODULE-024", "--forge DIR"),
        ("mod 'b', :git => 'ext::sh -c id'\n", "MODULE-006", "Puppetfile:1:1"),
        ("mod 'b', :git => '../nowhere'\n", "MODULE-022", "nothing was changed"),
    ],
)
def test_module_that_cannot_be_installed_is_one_clear_error(
    environment: Path, puppetfile: str | None, code: str, word: str
) -> None:
    (environment / "Puppetfile").unlink()
    if puppetfile is not None:
        (environment / "Puppetfile").write_text(puppetfile)
    done = precast(environment, "env", "modules", "install")
    assert done.returncode > 63
    assert code in done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert not (environment / "modules").exists()


def test_missing_environment_is_an_error(tmp_path: Path) -> None:
    done = precast(tmp_path, "env", "modules", "list", "--environment", "none")
    assert "CLI-030" in done.stderr
