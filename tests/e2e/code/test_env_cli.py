"""`precast env` with a real server: deploy, list, compare, roll back; and a refused deploy leaves the environment unchanged."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.precast_command import CommandResult, assert_fine
from tests.e2e.precast_server import Server, precast, running

SITE = "node default { notify { 'hello': } }\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Server.init(tmp_path_factory.mktemp("site") / "data")) as made:
        yield made


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A small environment."""
    place = tmp_path / "code"
    write(place / "manifests/site.pp", SITE)
    write(place / "modules/web/manifests/init.pp", "class web { }\n")
    write(place / "modules/web/templates/conf.epp", "<%= $x %>\n")
    write(place / "modules/web/files/large.bin", "0123456789abcdef" * 40_000)
    write(place / "hiera.yaml", "version: 5\n")
    return place


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """An environment of the test's own, on a server that many tests share."""
    return "e" + "".join(char if char.isalnum() else "_" for char in request.node.name)[:80].lower()


def write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def deploy(server: Server, name: str, place: Path, *words: str) -> CommandResult:
    return server.command("env", "deploy", name, "--from", place, *words)


def numbers(server: Server, name: str) -> list[int]:
    return [version["number"] for version in server.read("env", "show", name)["versions"]]


def test_deploy_sends_everything_first_and_only_changes_later(server: Server, name: str, code: Path) -> None:
    first = server.read("env", "deploy", name, "--from", str(code))
    assert (first["is_new"], first["current"]["number"], first["files"], first["sent_files"]) == (True, 1, 5, 6)
    write(code / "manifests/site.pp", SITE + "# more\n")
    second = server.read("env", "deploy", name, "--from", str(code))
    assert (second["current"]["number"], second["sent_files"], second["checked"]) == (2, 2, 1)
    assert second["current"]["deployed_by"] == "person:admin"
    actions = [(row["action"], row["target"]) for row in server.read("audit")]
    assert actions.count(("environment.deploy", name)) == 2


def test_same_code_is_no_new_version_and_says_so(server: Server, name: str, code: Path, tmp_path: Path) -> None:
    assert_fine(deploy(server, name, code))
    shutil.copytree(code, tmp_path / "copy")
    again = deploy(server, name, tmp_path / "copy")
    assert again.code == 0
    assert f"{name}: nothing to do, version 1" in again.out
    assert numbers(server, name) == [1]


def test_broken_code_is_refused_with_every_error_and_the_old_version_stays(
    server: Server, name: str, code: Path
) -> None:
    assert_fine(deploy(server, name, code))
    write(code / "manifests/site.pp", "node default {\n  notify { 'x' }\n}\n")
    write(code / "modules/web/types/port.pp", "type Web::Port = \n")
    write(code / "modules/web/templates/conf.epp", "<% if { %>\n")
    write(code / "modules/web/templates/old.erb", "<% if x %>\n")
    write(code / "hiera.yaml", "version: 5\nhierarchy: nonsense\n")
    ran = deploy(server, name, code)
    assert (ran.code, ran.out) == (64, "")
    lines = ran.err.splitlines()
    assert any(line.startswith("manifests/site.pp:2:") and ": error: " in line for line in lines), ran.err
    for path in ("modules/web/types/port.pp", "modules/web/templates/conf.epp", "modules/web/templates/old.erb"):
        assert any(line.startswith(f"{path}:") for line in lines), ran.err
    assert any(line.startswith("hiera.yaml") for line in lines), ran.err
    assert "is not deployed, errors in its files: 5 [ENV-008]" in ran.err
    assert numbers(server, name) == [1]


def test_code_that_is_never_loaded_may_be_broken(server: Server, name: str, code: Path) -> None:
    write(code / "modules/web/spec/fixtures/broken.pp", "class {")
    write(code / "modules/web/files/broken.pp.txt", "class {")
    assert_fine(deploy(server, name, code))


def test_ruby_that_is_not_rendered_is_a_warning(server: Server, name: str, code: Path) -> None:
    write(code / "modules/web/templates/ruby.erb", "<% undef name %>\n")
    ran = deploy(server, name, code)
    assert ran.code == 0, ran
    assert "modules/web/templates/ruby.erb:1:" in ran.err
    assert "warning" in ran.err


def test_rollback_makes_an_earlier_version_current_under_a_new_number(server: Server, name: str, code: Path) -> None:
    assert_fine(deploy(server, name, code))
    write(code / "manifests/site.pp", SITE + "# second\n")
    assert_fine(deploy(server, name, code))
    back = server.read("env", "rollback", name, "--why", "it hurts")
    assert (back["current"]["number"], back["current"]["source"]) == (3, "back to 1: it hurts")
    versions = server.read("env", "show", name)["versions"]
    assert versions[0]["version"] == versions[2]["version"] != versions[1]["version"]
    assert server.command("env", "rollback", name, "3").out.startswith(f"{name}: nothing to do")
    ran = server.command("env", "rollback", name, "17")
    assert (ran.code, "has no version 17" in ran.err) == (66, True)


def test_diff_lists_files_and_on_request_their_content(server: Server, name: str, code: Path) -> None:
    assert_fine(deploy(server, name, code))
    write(code / "manifests/site.pp", SITE.replace("hello", "world"))
    write(code / "modules/web/manifests/more.pp", "class web::more { }\n")
    (code / "modules/web/templates/conf.epp").unlink()
    (code / "modules/web/files/large.bin").chmod(0o755)
    assert_fine(deploy(server, name, code))
    ran = server.command("env", "diff", name)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        f"{name}: version 1 to 2, 4 files differ",
        "changed manifests/site.pp",
        "mode    modules/web/files/large.bin",
        "added   modules/web/manifests/more.pp",
        "removed modules/web/templates/conf.epp",
    ]
    shown = server.command("env", "diff", name, "1", "2", "--content").out
    assert "  -node default { notify { 'hello': } }" in shown
    assert "  +node default { notify { 'world': } }" in shown
    assert "  -<%= $x %>" in shown
    assert server.command("env", "diff", name, "2", "2").code == 0


def test_list_shows_what_is_current(server: Server, name: str, code: Path) -> None:
    assert_fine(deploy(server, name, code))
    (line,) = [line for line in server.command("env", "list").out.splitlines() if line.startswith(name)]
    assert "person:admin" in line
    assert server.command("env", "policy", name, "automatic").out == (
        f"{name}: compiled catalogs are released by policy automatic\n"
    )
    (row,) = [row for row in server.read("env", "list") if row["name"] == name]
    assert row["policy"] == "automatic"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["deploy", "x", "--from", "/nowhere"], 66, "cannot read /nowhere"),
        (["deploy", "x"], 64, "give --from DIR, or --git REPOSITORY and --ref REF"),
        (["deploy", "x", "--git", "/tmp"], 64, "give --from DIR, or --git REPOSITORY and --ref REF"),
        (["deploy", "x", "--git", "ext::sh -c id", "--ref", "main"], 64, "is not a git repository"),
        (["deploy", "x", "--git", "-oProxyCommand=id", "--ref", "main"], 64, "argument"),
        (["deploy", "x", "--git", "http://example.org/x", "--ref", "main"], 64, "is not a git repository"),
        (["deploy", "x", "--git", "/nowhere", "--ref", "--upload-pack=id"], 64, ""),
        (["deploy", "x", "--git", "/nowhere", "--ref", "main"], 75, "cannot fetch from /nowhere"),
        (["show", "unknown"], 66, "there is no environment unknown"),
        (["diff", "unknown"], 66, "there is no environment unknown"),
        (["rollback", "unknown"], 66, "there is no environment unknown"),
        (["show", "../nodes"], 66, "there is no environment ../nodes"),
        (["policy", "x", "never"], 64, "unknown"),
    ],
)
def test_wrong_input_is_one_clear_line(server: Server, words: list[str], code: int, says: str) -> None:
    ran = server.command("env", *words)
    assert (ran.code, ran.out) == (code, ""), ran
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_bad_name_of_an_environment_is_refused(server: Server, code: Path) -> None:
    ran = deploy(server, "Production", code)
    assert (ran.code, "ENV-001" in ran.err) == (64, True), ran


def test_unreachable_server_is_an_error(server: Server, code: Path) -> None:
    env = {**server.env, "PRECAST_URL": "https://127.0.0.1:1"}
    ran = precast("env", "deploy", "x", "--from", code, env=env)
    assert (ran.code, "HTTP-002" in ran.err) == (75, True), ran


def test_token_opens_only_its_environment_and_only_with_its_role(server: Server, name: str, code: Path) -> None:
    assert_fine(deploy(server, "other", code))

    def as_person(role: str, *words: str | Path) -> CommandResult:
        made = server.read("token", "person", f"{role}-{name[:20]}", "--role", role, "--environment", name)
        return precast("env", *words, env={**server.env, "PRECAST_TOKEN": made["token"]})

    assert_fine(as_person("operator", "deploy", name, "--from", code))
    assert_fine(as_person("viewer", "show", name))
    for role, *words in (
        ("operator", "deploy", "other", "--from", code),
        ("operator", "rollback", "other"),
        ("operator", "show", "other"),
        ("viewer", "deploy", name, "--from", code),
    ):
        ran = as_person(str(role), *words)
        assert (ran.code, "API-003" in ran.err) == (77, True), ran
    listed = as_person("viewer", "list", "--json")
    assert [row["name"] for row in json.loads(listed.out)] == [name]
    nodes = precast("node", "list", env={**server.env, "PRECAST_TOKEN": "x"})
    assert nodes.code != 0


def test_content_of_another_environment_cannot_be_read_by_its_digest(server: Server, name: str, code: Path) -> None:
    write(code / "manifests/secret.pp", f"# {name} is only here\n")
    assert_fine(deploy(server, name, code))
    assert_fine(deploy(server, "elsewhere", _other(code)))
    (change,) = [
        change for change in _differ_from_nothing(server, name, code) if change["path"] == "manifests/secret.pp"
    ]
    digest = change["before"]["digest"]
    assert server.ask("GET", f"/v1/environments/{name}/content/{digest}", server.admin).status == 200
    assert server.ask("GET", f"/v1/environments/elsewhere/content/{digest}", server.admin).status == 404


def _other(code: Path) -> Path:
    place = code.parent / "elsewhere"
    write(place / "manifests/site.pp", SITE)
    return place


def _differ_from_nothing(server: Server, name: str, code: Path) -> list[dict[str, Any]]:
    shutil.rmtree(code)
    write(code / "manifests/site.pp", SITE)
    assert_fine(deploy(server, name, code))
    changes: list[dict[str, Any]] = server.read_any("env", "diff", name)["changes"]
    return changes


def git(place: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
        cwd=place,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_git_repository_is_deployed_at_a_branch_and_a_commit(server: Server, name: str, code: Path) -> None:
    git(code, "init", "--quiet", "--initial-branch=main")
    git(code, "add", ".")
    git(code, "commit", "--quiet", "-m", "one")
    first = git(code, "rev-parse", "HEAD")
    write(code / "manifests/site.pp", SITE + "# two\n")
    git(code, "commit", "--quiet", "-am", "two")
    write(code / "manifests/site.pp", "not committed {")
    made = server.read("env", "deploy", name, "--git", str(code), "--ref", "main")
    assert made["current"]["commit_id"] == git(code, "rev-parse", "HEAD")
    assert made["current"]["source"] == f"{code} main"
    older = server.read("env", "deploy", name, "--git", str(code), "--ref", first)
    assert (older["current"]["commit_id"], older["is_new"]) == (first, True)
    ran = server.command("env", "deploy", name, "--git", code, "--ref", "nowhere")
    assert (ran.code, "ENV-022" in ran.err) == (75, True), ran


def test_puppetfile_without_its_modules_is_refused(server: Server, name: str, code: Path) -> None:
    shutil.rmtree(code / "modules")
    write(code / "Puppetfile", "mod 'puppetlabs-stdlib', '9.0.0'\n")
    ran = deploy(server, name, code)
    assert (ran.code, "ENV-023" in ran.err) == (64, True), ran


def test_modules_of_a_puppetfile_are_installed_for_code_from_git(
    server: Server, name: str, code: Path, tmp_path: Path
) -> None:
    module = tmp_path / "ntp"
    write(module / "manifests/init.pp", "class ntp { }\n")
    for place in (module, code):
        git(place, "init", "--quiet", "--initial-branch=main")
    shutil.rmtree(code / "modules")
    write(code / "Puppetfile", f"mod 'ntp', :git => '{module}', :branch => 'main'\n")
    for place in (module, code):
        git(place, "add", ".")
        git(place, "commit", "--quiet", "-m", "one")
    first = server.read("env", "deploy", name, "--git", str(code), "--ref", "main")
    assert first["is_new"]
    again = server.read("env", "deploy", name, "--git", str(code), "--ref", "main")
    assert not again["is_new"], "the same commits are the same tree"
    write(module / "manifests/server.pp", "class ntp::server { }\n")
    git(module, "add", ".")
    git(module, "commit", "--quiet", "-m", "two")
    assert server.read("env", "deploy", name, "--git", str(code), "--ref", "main")["is_new"]
    changes = {change["path"] for change in server.read_any("env", "diff", name)["changes"]}
    assert "modules/ntp/manifests/server.pp" in changes


def test_settings_of_an_environment_are_checked(server: Server, name: str, code: Path) -> None:
    write(code / "environment.conf", "modulepath = modules:/usr/share/puppet/modules\nconfig_version = /bin/true\n")
    ran = deploy(server, name, code)
    assert ran.code == 0, ran
    assert "modules in /usr/share/puppet/modules are not deployed" in ran.err
    assert "config_version has no effect" in ran.err
    write(code / "environment.conf", "modulepath = $codedir/modules\n")
    ran = deploy(server, name, code)
    assert (ran.code, "environment.conf: error: " in ran.err, "ENV-008" in ran.err) == (64, True, True), ran
    assert numbers(server, name) == [1]
