"""What tasks of a plan do on real nodes: parts of catalogs, entry points, files from the master; and what a no-op leaves alone."""

from pathlib import Path

import pytest

from tests.e2e.plans.plan_fleet import PlanFleet

pytestmark = pytest.mark.timeout(300)


def test_part_of_the_released_catalog_is_applied_and_the_rest_left_alone(plans: PlanFleet) -> None:
    etc = plans.root("web1") / "etc"
    text = """
- id: motd
  type: catalog
  roles: [web]
  parameters: {classes: ['profile::motd']}
  test_post: {file: /etc/motd, contains: motd}
"""
    for name in ("motd", "other"):
        (etc / name).unlink(missing_ok=True)
    assert plans.start(text, "--noop", nodes="web1")["counts"] == {"successful": 1}
    assert not (etc / "motd").exists()
    run = plans.start(text, nodes="web1")
    assert run["counts"] == {"successful": 1}
    assert ((etc / "motd").read_text(), (etc / "other").exists()) == ("motd\n", False)
    (instance,) = plans.instances(run["run"]["id"]).values()
    (report,) = plans.site.run("report", "list", "--node", "web1", "--most", "1")
    assert report["id"] == instance["report"]


def test_entry_point_is_compiled_applied_and_clean_after_it(plans: PlanFleet) -> None:
    text = """
- id: issue
  type: manifest
  roles: [web]
  parameters: {manifest: modules/profile/examples/issue.pp}
  test_post: {clean: {manifest: modules/profile/examples/issue.pp}}
"""
    assert plans.start(text)["counts"] == {"successful": 2}
    for node in ("web1", "web2"):
        assert (plans.root(node) / "etc/issue").read_text() == "on Debian\n"
    dirty = text.replace("test_post", "test_pre")
    (plans.root("web2") / "etc/issue").write_text("changed")
    run = plans.start(dirty, code=4)
    (failure,) = run["failures"]
    assert (failure["node"], failure["reason"]) == ("web2", "pre-test")
    assert (plans.root("web2") / "etc/issue").read_text() == "changed"


def test_files_of_the_master_are_copied_and_files_are_uploaded(plans: PlanFleet) -> None:
    keys = plans.root("web1") / "var/lib/keys"
    keys.mkdir(parents=True, exist_ok=True)
    (keys / "shop").write_text("secret")
    text = """
- id: keys
  type: copy_files
  roles: [web]
  parameters:
    files: [{src: /var/lib/keys/shop, dst: /srv/keys/shop}]
    permissions: '0600'
    dir_permissions: '0700'
- id: release
  type: upload_file
  roles: [web]
  requires: [keys]
  parameters: {path: /srv/release, data: {yaql_exp: '"on " + $.name'}}
  test_post: {file: /srv/release, contains: 'on web'}
"""
    run = plans.start(text, "--master", "web1")
    assert run["run"]["state"] == "done"
    assert set(run["counts"]) == {"successful"}
    for node in ("web1", "web2"):
        copied = plans.root(node) / "srv/keys/shop"
        assert (copied.read_text(), copied.stat().st_mode & 0o777) == ("secret", 0o600)
        assert (plans.root(node) / "srv/release").read_text() == f"on {node}"
    # It can be repeated, although the run has ended.
    (plans.root("web2") / "srv/keys/shop").unlink()
    plans.command("plan", "run-task", run["run"]["id"], "keys", "web2")
    assert (plans.root("web2") / "srv/keys/shop").read_text() == "secret"


def test_copies_are_chosen_alone_and_may_differ_between_nodes(plans: PlanFleet) -> None:
    (plans.root("web1") / "srv").mkdir(exist_ok=True)
    for name in ("web1", "web2"):
        (plans.root("web1") / f"srv/of_{name}").write_text(name)
    text = """
- {id: first, type: shell, roles: [web], parameters: {cmd: 'false'}}
- id: own
  type: copy_files
  roles: [web]
  requires: [first]
  parameters: {files: [{src: {yaql_exp: '"/srv/of_" + $.name'}, dst: /srv/own}]}
- id: absent
  type: copy_files
  roles: [web]
  condition: {yaql_exp: 'false'}
  parameters: {files: [{src: /srv/absent, dst: /srv/own}]}
"""
    run = plans.start(text, "--master", "web1", "--only", "own")
    assert run["counts"] == {"successful": 3, "skipped": 5}
    assert [(plans.root(name) / "srv/own").read_text() for name in ("web1", "web2")] == ["web1", "web2"]


def test_object_that_a_command_prints_is_the_input_of_another_and_is_explained(plans: PlanFleet) -> None:
    text = """
- {id: ask, type: shell, roles: [web], parameters: {cmd: 'echo asking >&2; echo "{\\"port\\": 80}"'}}
- id: use
  type: shell
  roles: [web]
  condition: {yaql_exp: "$.name != 'web3'"}
  inputs: {port: {task: ask, key: port}, all: {task: ask, key: port, role: web}}
  parameters: {cmd: 'test "$PT_port $PT_all" = "80 {\\"web1\\":80,\\"web2\\":80}"'}
"""
    run = plans.start(text)
    assert run["counts"] == {"successful": 4}
    words = ("plan", "explain", "use", "--run", run["run"]["id"])
    told = plans.command(*words)
    assert 'on web1: successful\n  saw name: "web1"\n  got all: {"web1":80,"web2":80}\n  got port: 80\n' in told
    viewer = str(plans.site.run("token", "person", "vic", "--role", "viewer")["token"])
    told = plans.command(*words, token=viewer)
    assert ('saw name: "web1"' in told, "got" in told) == (True, False)


def test_noop_runs_no_commands(plans: PlanFleet, tmp_path: Path) -> None:
    text = f"""
- {{id: command, type: shell, roles: [web], parameters: {{cmd: 'touch {tmp_path}/done'}}}}
- {{id: motd, type: catalog, roles: [web], requires: [command], parameters: {{classes: ['profile::motd']}}}}
"""
    (plans.root("web1") / "etc/motd").unlink(missing_ok=True)
    checked = plans.command("plan", "start", plans.write(text), "--nodes", "web1", "--noop", "--dry-run")
    assert "2 tasks, 2 on 1 node, of which 1 would run: 1 warning" in checked
    run = plans.start(text, "--noop", nodes="web1")
    assert run["counts"] == {"successful": 1, "skipped": 1}
    assert not (tmp_path / "done").exists()
    assert not (plans.root("web1") / "etc/motd").exists()


def test_plan_of_the_environment_is_started_by_its_name(plans: PlanFleet) -> None:
    assert plans.command("plan", "list", "--environment", "production") == "named\n"
    run = plans.read("plan", "start", "named", "--nodes", "role = 'web'", "--override-window")["run"]
    assert (run["plan"], run["counts"], run["run"]["overrides_window"]) == ("named", {"successful": 2}, True)


def test_whole_output_and_collected_files_are_fetched_by_the_role_for_commands(plans: PlanFleet) -> None:
    keys = plans.root("web1") / "var/lib/keys"
    keys.mkdir(parents=True, exist_ok=True)
    (keys / "log").write_text("collected")
    text = """
- id: many
  type: shell
  roles: [web]
  parameters: {cmd: 'seq 100000; echo late >&2'}
- id: logs
  type: copy_files
  roles: [web]
  requires: [many]
  parameters:
    files: [{src: /var/lib/keys/log, dst: /srv/log}]
"""
    run = plans.start(text, "--master", "web1")
    job = run["run"]["id"]
    output = "".join(f"{number}\n" for number in range(1, 100_001)) + "late\n"
    many = plans.instances(job)["many on web1"]["result"]
    assert many["cut_bytes"] > 0
    assert many["output"] == {"size": len(output)}
    assert plans.command("exec", "output", job, "web1", "--task", "1") == output
    (collecting,) = [
        row["number"]
        for row in plans.instances(job).values()
        if row["number"] != 1 and "digest" in row["result"].get("returned", "")
    ]
    words = ("exec", "output", job, "web1", "--task", str(collecting), "--path")
    assert plans.command(*words, "/var/lib/keys/log") == "collected"
    assert "has not collected such a file" in plans.command(*words, "/var/lib/keys/other", code=66)
