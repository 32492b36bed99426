"""From deployed code to the served catalog of a node: real server, real commands, real certificates."""

import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.server_process import PRECAST
from lab.site import Site
from precast.base import digests, https

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "site"
NODES = ("web1", "web2")
DEADLINE_S = 30.0


class Deployment:
    """A site with two nodes that have sent their facts, and code that tests change."""

    def __init__(self, site: Site, directory: Path) -> None:
        self.site = site
        self.code = directory / "code"
        shutil.copytree(EXAMPLE, self.code)
        self.identities = {name: site.enrol(name) for name in NODES}
        for name, identity in self.identities.items():
            stable = {"os": {"name": "Debian"}, "networking": {"hostname": name}}
            body = {"digest": digests.of_value(stable), "volatile": {}, "stable": stable}
            came = https.call(site.url, identity.context(), "POST", "/v1/facts", json.dumps(body).encode())
            assert came.status == 200, came

    def deploy(self) -> None:
        self.site.run("env", "deploy", "production", "--from", str(self.code))

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([PRECAST, *words], env=self.site.environment, capture_output=True, text=True, check=False)

    def until_staged(self, node: str, other_than: str | None = None) -> Any:
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            done = self.command("catalog", "show", node, "--json")
            if done.returncode == 0 and (view := json.loads(done.stdout))["staged"] != other_than:
                return view
        raise AssertionError(f"nothing was staged for {node}: {done.stderr}")

    def fetch(self, node: str, known: str = "") -> Any:
        headers = {"If-None-Match": f'"{known}"'} if known else {}
        return https.call(self.site.url, self.identities[node].context(), "GET", "/v1/catalog", headers=headers)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    directory = tmp_path_factory.mktemp("release")
    with Site(directory / "site") as site:
        made = Deployment(site, directory)
        made.deploy()
        yield made


def test_staged_catalog_is_not_served_and_released_one_is_byte_for_byte(deployment: Deployment) -> None:
    view = deployment.until_staged("web1")
    assert (view["state"], view["released"]) == ("staged, nothing released", None)
    assert deployment.fetch("web1").status == 404
    done = deployment.site.run("release", "web1", "--why", "a test")
    assert done["released"] == ["web1"]
    came = deployment.fetch("web1")
    assert came.status == 200
    assert digests.of_bytes(came.body) == view["staged"]
    assert came.headers["ETag"] == f'"{view["staged"]}"'
    assert b"Welcome to web1." in came.body
    assert deployment.fetch("web1", view["staged"]).status == 304
    # Only the chosen node gets the new catalog.
    assert deployment.fetch("web2").status == 404


def test_change_is_previewed_released_and_rolled_back(deployment: Deployment) -> None:
    deployment.site.run("release", "web1,web2")
    before = deployment.until_staged("web2")["staged"]
    common = deployment.code / "data" / "common.yaml"
    common.write_text(common.read_text().replace("Welcome", "Hello"))
    deployment.deploy()
    after = deployment.until_staged("web2", other_than=before)["staged"]
    deployment.until_staged("web1", other_than=deployment.site.run("catalog", "show", "web1")["released"])
    preview = deployment.site.run("release", "--preview", "web1,web2")
    assert [(change["ref"], change["kind"], change["count"]) for change in preview["changes"]] == [
        ("File[/etc/motd]", "changed", 2)
    ]
    said = deployment.command("release", "--preview", "web1,web2").stdout
    assert "2 nodes: File[/etc/motd] changed" in said
    assert "+Hello to <trusted.certname>." in said
    assert "+Hello to web2." in deployment.command("catalog", "diff", "web2").stdout
    assert deployment.site.run("release", "web2")["released"] == ["web2"]
    assert deployment.fetch("web2").headers["ETag"] == f'"{after}"'
    assert deployment.site.run("rollback", "web2")["released"] == ["web2"]
    assert deployment.fetch("web2").headers["ETag"] == f'"{before}"'
    actions = [row["action"] for row in deployment.site.run("audit", "--limit", "20")]
    assert {"catalog.release", "catalog.rollback"} <= set(actions)


def test_rollback_by_command_goes_further_back_and_lists_the_history(deployment: Deployment) -> None:
    site = deployment.code / "manifests" / "site.pp"
    good = site.read_text()
    served = []
    for word in ("first", "second", "third"):
        site.write_text(f"{good}\nnotify {{ '{word}': }}\n")
        deployment.deploy()
        released = deployment.command("release", "web2", "--wait", "60", "--json")
        assert released.returncode == 0, released.stderr
        served.append((json.loads(released.stdout)["release"], deployment.fetch("web2").headers["ETag"]))
    (first, first_tag), (second, second_tag), (third, _) = served
    preview = deployment.command("rollback", "web2", "--preview")
    assert (preview.returncode, "1 node: Notify[second]" in preview.stdout) == (0, True), preview
    assert f"web2: release {third} (version " in preview.stdout
    for number, tag in ((second, second_tag), (first, first_tag)):
        done = deployment.command("rollback", "web2")
        assert done.returncode == 0, done.stderr
        assert f"→ release {number} (version " in done.stdout
        assert deployment.fetch("web2").headers["ETag"] == tag
    history = deployment.site.run("release", "list", "web2")["web2"]
    states = {row["release"]: row["state"] for row in history if row["kind"] == "release"}
    assert (states[first], states[second], states[third]) == ("served", "rolled back", "rolled back")
    listed = deployment.command("release", "list", "--node", "web2").stdout
    assert [line.split()[1] for line in listed.splitlines() if line.startswith("*")] == [str(first)]
    assert [row["kind"] for row in deployment.site.run("release", "list", "--limit", "2")] == ["rollback", "rollback"]
    assert deployment.command("rollback", "web2", "--to", str(third)).returncode == 0
    skipped = deployment.command("rollback", "web1,web2", "--to", str(second))
    assert (skipped.returncode, f"skipped, release {second} was not released to it" in skipped.stdout) == (1, True)
    assert deployment.command("rollback", "web1", "--to", str(second)).returncode == 4
    site.write_text(good)
    deployment.deploy()
    deployment.until_staged("web2")


def test_why_lists_the_reads_and_nothing_else(deployment: Deployment) -> None:
    deployment.until_staged("web1")
    reads = deployment.site.run("catalog", "why", "web1")["reads"]
    about = {(read["question"], read["about"]) for read in reads}
    assert ("file", "modules/motd/templates/motd.epp") in about
    assert not [read for read in reads if read["question"] == "fact"]
    assert "reads in production" in deployment.command("catalog", "why", "web1").stdout


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("catalog", "show", "nobody"), 66, "[RELEASE-001]"),
        (("catalog", "why", "no body"), 66, "[RELEASE-001]"),
        (("catalog", "diff", "nobody"), 66, "[RELEASE-001]"),
        (("release", "nobody"), 66, "[NODE-001]"),
        (("release",), 64, "[TARGET-005]"),
        (("rollback", "web*("), 64, "[TARGET-"),
        (("rollback", "web1", "--to", "999999"), 66, "[RELEASE-005]"),
        (("rollback", "web1", "--to", "yesterday"), 64, "[RELEASE-003]"),
        (("rollback", "--continue", "999999"), 66, "[RELEASE-005]"),
        (("rollback", "web1", "--continue", "1"), 64, "--continue"),
        (("rollback", "web1", "--to", "999999999h"), 64, "[RELEASE-003]"),
        (("rollback", "--continue", "1"), 64, "precast release --continue 1"),
        (("release", "--continue", "1"), 73, "[RELEASE-004]"),
        (("release", "--continue", "999999"), 66, "[RELEASE-005]"),
        (("release", "web1", "--continue", "1"), 64, "--continue"),
        (("release", "list", "nobody"), 66, "[NODE-001]"),
        (("catalog", "shwo", "web1"), 64, "did you mean"),
    ],
)
def test_mistake_is_reported_in_one_line(deployment: Deployment, words: tuple[str, ...], code: int, told: str) -> None:
    if words[-2:] == ("--continue", "1"):
        deployment.until_staged("web1")
        deployment.site.run("release", "web1")  # so that there is a release 1, whichever tests ran before
    done = deployment.command(*words)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_rollback_without_an_answer_says_how_to_see_whether_it_has_begun(deployment: Deployment) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.recv(1)
            connection.close()

        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        for words, is_told in ((("rollback", "web1"), True), (("release", "web1"), False)):
            thread = threading.Thread(target=hang_up)
            thread.start()
            done = deployment.command(*words, "--url", url)
            thread.join()
            assert (done.returncode, "[HTTP-002]" in done.stderr) == (75, True), done.stderr
            assert ("the rollback may have begun: `precast release list`" in done.stderr) == is_told
    refused = deployment.command("rollback", "web1", "--url", url)
    assert (refused.returncode, "may have begun" in refused.stderr) == (75, False)


def test_broken_code_is_reported_and_the_served_catalog_stays(deployment: Deployment) -> None:
    deployment.site.run("release", "web1")
    served = deployment.fetch("web1").headers["ETag"]
    site = deployment.code / "manifests" / "site.pp"
    good = site.read_text()
    site.write_text(f"{good}\nif true {{ fail('not today') }}\n")
    deployment.deploy()
    end_s = time.monotonic() + DEADLINE_S
    while not (errors := deployment.site.run("catalog", "errors")["errors"]) and time.monotonic() < end_s:
        pass
    assert "not today" in errors[0]["error"]
    assert "manifests/site.pp:" in errors[0]["error"]
    done = deployment.command("release", "web1", "--json")
    assert (done.returncode, json.loads(done.stdout)["left_out"]) == (4, {"web1": "its code gives an error"})
    assert deployment.fetch("web1").headers["ETag"] == served
    site.write_text(good)
    deployment.deploy()
    deployment.until_staged("web1", other_than=None)


def test_problems_of_a_catalog_are_shown_before_its_release(deployment: Deployment) -> None:
    site = deployment.code / "manifests" / "site.pp"
    good = site.read_text()
    site.write_text(f"{good}\nselboolean {{ 'on': }}\n")
    deployment.deploy()
    done = deployment.command("catalog", "compile", "web1")
    assert done.returncode == 0
    assert "\nnote: the staged catalogs of " in deployment.command("status").stdout
    told = (
        "warning: the node applies resources of these types only if it has a Puppet, and its facts do not say whether it has one: "
        "selboolean [CATALOG-007]\n  hint: "
    )
    assert told in done.stdout
    assert told in deployment.command("catalog", "show", "web1").stdout
    assert f"1 node: web1\n{told}" in deployment.command("catalog", "errors").stdout.replace(
        "2 nodes: web1, web2", "1 node: web1"
    )
    assert f"1 node: {told}" in deployment.command("release", "web1", "--preview").stdout
    site.write_text(f"{good}\nnotify {{ ['x', 'y']: }} Notify['x'] -> Notify['y'] -> Notify['x']\n")
    deployment.deploy()
    done = deployment.command("catalog", "compile", "web1")
    assert done.returncode == 1
    assert "Notify[x] => Notify[y] => Notify[x] [CATALOG-002]" in done.stdout
    assert "Notify[x] at manifests/site.pp:" in done.stdout
    site.write_text(good)
    deployment.deploy()
    assert deployment.command("catalog", "compile", "web1").returncode == 0


def test_person_requests_a_decision_and_sees_its_result(deployment: Deployment) -> None:
    before = deployment.until_staged("web1")["staged"]
    done = deployment.command("catalog", "compile", "web1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"web1: {before[:12]} is unchanged, ")
    site = deployment.code / "manifests" / "site.pp"
    good = site.read_text()
    site.write_text("fail('not at all')\n")
    deployment.deploy()
    done = deployment.command("catalog", "compile", "web1")
    assert done.returncode == 1
    assert "web1: its code gives an error\n" in done.stdout
    assert "not at all" in done.stdout
    site.write_text(good)
    deployment.deploy()
    assert deployment.command("catalog", "compile", "web1").returncode == 0
    why = deployment.command("catalog", "why", "web1").stdout
    assert "from an error in the code to " in why
    assert "  file manifests/site.pp: " in why
    assert f"(from {deployment.code}), deployed by person:admin " in why

    unknown = deployment.command("catalog", "compile", "nobody")
    assert (unknown.returncode, "there is no node nobody" in unknown.stderr) == (66, True)
    wrong = deployment.command("catalog", "compile", "web1", "--wait", "soon")
    assert wrong.returncode == 64
    assert "a duration such as" in wrong.stderr


def test_release_waits_for_the_newest_code_and_reports_skipped_nodes(deployment: Deployment) -> None:
    site = deployment.code / "manifests" / "site.pp"
    site.write_text("include motd\nnotify { 'waited for': }\n")
    deployment.deploy()
    done = deployment.command("release", "web1,web2", "--wait", "60")
    assert (done.returncode, done.stdout) == (0, "2 nodes released, 0 unchanged, 0 skipped\n"), done.stderr
    assert b"waited for" in deployment.fetch("web1").body
    assert deployment.command("release", "web1,web2", "--wait").returncode == 0, "what is served already is well"

    # The command does not wait for a node without facts, and reports it as skipped.
    deployment.site.enrol("mute")
    done = deployment.command("release", "web1,mute", "--wait")
    assert done.returncode == 1, done.stderr
    assert done.stdout == "skipped, nothing is staged: mute\n0 nodes released, 1 unchanged, 1 skipped\n"
    assert deployment.command("release", "mute").returncode == 4
    assert deployment.command("rollback", "mute").returncode == 4
    deployment.site.run("node", "deactivate", "mute")

    wrong = deployment.command("release", "web1", "--wait", "soon")
    assert (wrong.returncode, "'soon' is not a duration" in wrong.stderr) == (64, True)
    wrong = deployment.command("release", "--wait", "web1")
    assert (wrong.returncode, "name the targets before --wait" in wrong.stderr) == (64, True)


@pytest.mark.parametrize(("asked_by", "status"), [("2026-11-16T09:00:00Z", 200), ("2026-11-16T09:00:00", 400)])
def test_time_since_which_a_decision_waits_has_a_time_zone(deployment: Deployment, asked_by: str, status: int) -> None:
    authority = Path(deployment.site.environment["PRECAST_CA"]).read_text()
    headers = {"Authorization": f"Bearer {deployment.site.environment['PRECAST_TOKEN']}"}
    body = json.dumps({"nodes": {"targets": ["web1"]}, "asked_by": asked_by}).encode()
    came = https.call(
        deployment.site.url, https.trust_authority(authority), "POST", "/v1/readiness", body, headers=headers
    )
    assert came.status == status, came.body


def test_node_fetches_its_released_catalog_with_contents_and_applies_it(deployment: Deployment, tmp_path: Path) -> None:
    module = deployment.code / "modules" / "motd"
    (module / "files").mkdir(exist_ok=True)
    (module / "files" / "issue").write_text("only for those who may\n")
    (module / "precast" / "facts").mkdir(parents=True, exist_ok=True)
    (module / "precast" / "facts" / "colour.py").write_text("def collect(machine):\n    return {'colour': 'green'}\n")
    manifest = module / "manifests" / "init.pp"
    manifest.write_text(
        manifest.read_text().rstrip().removesuffix("}")
        + "  file { '/etc/issue': ensure => file, source => 'puppet:///modules/motd/issue' }\n}\n"
    )
    before = deployment.until_staged("web1")["staged"]
    site = deployment.code / "manifests" / "site.pp"
    site.write_text("include motd\n")
    common = deployment.code / "data" / "common.yaml"
    common.write_text(common.read_text().replace("Welcome", "Hello"))
    deployment.deploy()
    deployment.until_staged("web1", other_than=before)
    deployment.site.run("release", "web1")
    root = deployment.site.directory / "nodes" / "web1"
    words = ("--url", deployment.site.url, "--root", str(root), "--json")

    fetched = json.loads(deployment.command("agent", "fetch", *words).stdout)
    assert (fetched["is_new"], fetched["contents"], fetched["plugins"]) == (True, 2, ["facts/motd__colour.py"])
    assert json.loads(deployment.command("agent", "fetch", *words).stdout)["is_new"] is False
    (root / "etc").mkdir(exist_ok=True)
    done = deployment.command("agent", "apply", "--root", str(root))
    assert done.returncode == 0, done.stderr
    assert (root / "etc" / "motd").read_text().splitlines()[0] == "Hello to web1."
    assert (root / "etc" / "issue").read_text() == "only for those who may\n"
    again = deployment.command("agent", "apply", "--root", str(root), "--detailed-exitcodes")
    assert again.returncode == 0, again.stdout

    # Another node cannot fetch content that only this node's catalog names, and no node content that no catalog names.
    (content,) = [
        path.name for path in (root / "var/lib/precast/agent/content").iterdir() if "only" in path.read_text()
    ]
    path = f"/v1/content/{content}"
    assert https.call(deployment.site.url, deployment.identities["web1"].context(), "GET", path).status == 200
    assert https.call(deployment.site.url, deployment.identities["web2"].context(), "GET", path).status == 404
    unknown = f"/v1/content/{'0' * 64}"
    assert https.call(deployment.site.url, deployment.identities["web1"].context(), "GET", unknown).status == 404

    # Cached content that was changed by another program is not applied.
    (root / "var/lib/precast/agent/content" / content).write_text("something else\n")
    (root / "etc" / "issue").unlink()
    refused = deployment.command("agent", "apply", "--root", str(root))
    assert refused.returncode == 4
    assert f"the content {content} is not on this machine" in refused.stdout
    assert not (root / "etc" / "issue").exists()
