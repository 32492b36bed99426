"""`precast status` and `config show` as a user runs them."""

import json
from pathlib import Path

from lab.agent_process import AgentProcess
from lab.site import Site
from precast.agent.identity.enrolment import Identity
from tests.e2e.precast_command import CommandResult, assert_refused
from tests.e2e.precast_server import Server, precast, running


def test_status_of_a_site_on_one_screen_and_when_it_is_down(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    with running(server):
        ran = server.command("status")
        assert ran.err == ""
        words = [line.split()[0] for line in ran.out.splitlines() if line and not line.startswith(" ")]
        assert words[:6] == ["version", "database", "servers", "nodes", "work", "authority"]
        assert len(ran.out.splitlines()) < 25
        view = server.read_any("status")
        assert view["database"]["kind"] == "SQLite"
        # A new site has no problem, unless the disk of this machine is nearly full.
        problems = [problem for problem in view["problems"] if "free space" not in problem["text"]]
        assert problems == []
        assert view["problems"] or ran.code == 0
        wrong = precast("status", env={**server.env, "PRECAST_TOKEN": server.admin[:-4] + "AAAA"})
        assert_refused(wrong, 77, "API-002")
    assert_refused(server.command("status"), 75, "HTTP-002")
    assert_refused(precast("status", env={"XDG_CONFIG_HOME": str(tmp_path)}), 64, "CLI-020")


def test_status_names_a_node_whose_run_failed_until_a_run_succeeds(tmp_path: Path) -> None:
    manifests = tmp_path / "code/manifests"
    manifests.mkdir(parents=True)
    root = tmp_path / "web1"
    (root / "etc").mkdir(parents=True)
    (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')
    with Site(tmp_path / "server") as site:
        Identity(root).enrol(site.url, site.run("token", "enrol", "web1")["token"], "web1")

        def run(code: str) -> int:
            """Release this code to the node, and let it run. Returns the exit code."""
            (manifests / "site.pp").write_text(code)
            site.run("env", "deploy", "production", "--from", str(tmp_path / "code"))
            site.run("release", "web1", "--wait")
            return command("run", "web1").code

        def command(*words: str) -> CommandResult:
            return precast(*words, env=site.environment)

        def shown() -> tuple[list[str], int]:
            ran = command("status")
            assert ran.err == ""
            return [line for line in ran.out.splitlines() if "free space" not in line], ran.code

        with AgentProcess(root, site.url) as agent:
            agent.until_settled()
            site.run("node", "policy", "set", "web1", "--enforce", "triggered")
            agent.until(lambda status: status.get("policy", {}).get("enforce") == "triggered")
            assert run("file { '/missing/motd': content => 'x' }\n") == 4
            lines, code = shown()
            at = lines.index("warning: nodes whose last run failed: 1 (web1)")
            assert lines[at + 1].startswith("  hint: `precast report list --failed`")
            assert code in (1, 2)
            listed = command("report", "list", "--failed")
            assert (listed.code, "web1" in listed.out) == (0, True)
            assert run("file { '/etc/motd': content => 'x' }\n") == 0
            assert not any("last run failed" in line for line in shown()[0])


def test_config_show_names_the_origin_of_each_value_and_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "precast" / "client.toml"
    file.parent.mkdir()
    file.write_text('url = "https://a"\ntoken = "geheim"\n')
    file.chmod(0o600)
    ran = precast("config", "show", "--json", env={"XDG_CONFIG_HOME": str(tmp_path), "PRECAST_LISTEN": "[::1]:1"})
    rows = {(row["program"], row["name"]): (row["value"], row["from"]) for row in json.loads(ran.out)}
    assert rows["client", "url"] == ("https://a", f"{file}:1")
    assert rows["client", "token"] == ("(set, not shown)", f"{file}:2")
    assert rows["server", "listen"] == ("[::1]:1", "PRECAST_LISTEN")
    assert rows["agent", "facts_interval"] == ("30m", "default")
    assert "geheim" not in ran.out + ran.err
    shown = precast("config", "show", "server", "--database", "postgresql://u:geheim@h/d")
    assert "postgresql://u@h/d" in shown.out
    assert "geheim" not in shown.out


def test_server_takes_its_settings_from_a_file_and_refuses_a_misspelt_one(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text(f'data = "{tmp_path}/data"\n')
    made = precast("server", "init", "--config", file, "--json")
    assert made.code == 0
    assert (tmp_path / "data" / "precast.db").exists()
    file.write_text(f'dta = "{tmp_path}/data"\n')
    ran = precast("server", "init", "--config", file)
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.splitlines()[0] == f"{file}:1:1: error: dta is not a setting; did you mean data? [CONFIG-004]"
