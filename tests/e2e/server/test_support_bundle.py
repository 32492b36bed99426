"""`precast support-bundle`: it contains the diagnostic data, and none of the planted secrets."""

import json
import tarfile
from pathlib import Path

from tests.e2e.precast_command import assert_refused
from tests.e2e.precast_server import Server, mode_of, precast, running


def parts_of(file: Path) -> dict[str, str]:
    with tarfile.open(file) as archive:
        archive.extractall(file.parent / "out", filter="data")
    return {path.name: path.read_text() for path in (file.parent / "out").rglob("*") if path.is_file()}


def test_bundle_contains_diagnostics_and_no_planted_secret(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    key = (tmp_path / "data" / "authority" / "key.pem").read_text()
    log = tmp_path / "server.log"
    log.write_text(
        f"started with {server.admin}\n"
        f"{key}\n"
        "Authorization: Bearer BEARERSECRET\n"
        "connecting to postgresql://precast:URLSECRET@db/precast\n"
        '{"content": {"__ptype": "Sensitive", "__pvalue": "SENSITIVESECRET"}}\n'
        "db_password=LOGSECRET harmless words\n"
    )
    with running(server):
        enrolment = server.read("token", "enrol", "web1.test")["token"]
        server.enrol(tmp_path / "node", "web1.test", enrolment)
        node_key = (tmp_path / "node/var/lib/precast/agent/key.pem").read_text()
        server.command("ca", "revoke", "web1.test", "--why", "password=AUDITSECRET was seen")
        file = tmp_path / "bundle.tar.gz"
        variables = {
            **server.env,
            "PRECAST_DATA": str(tmp_path / "data"),
            "PRECAST_ENROL_TOKEN": enrolment,
            "PGPASSWORD": "ENVSECRET",
        }
        ran = precast("support-bundle", file, "--log", log, "--json", env=variables)
        printed = json.loads(ran.out)
        again = precast("support-bundle", file, env=variables)
    assert ran.code == 0
    assert mode_of(file) == 0o600
    parts = parts_of(file)
    assert {*(f"{name}.json" for name in ("versions", "configuration", "status", "audit", "database"))} <= set(parts)
    assert {"metrics.txt", "log-1.txt", "missing.txt"} <= set(parts)
    assert set(printed["missing"]) <= {"journal.txt"}
    everything = "\n".join(parts.values()) + ran.out + ran.err
    secrets = {
        "admin token": server.admin.split(".")[2],
        "enrolment token": enrolment.split(".")[2],
        "authority's key": key.splitlines()[1],
        "node's key": node_key.splitlines()[1],
        **{
            word: word
            for word in ("BEARERSECRET", "URLSECRET", "SENSITIVESECRET", "LOGSECRET", "AUDITSECRET", "ENVSECRET")
        },
    }
    assert [name for name, secret in secrets.items() if secret in everything] == []
    # The useful data is still there.
    assert "harmless words" in parts["log-1.txt"]
    assert "certificate.revoke" in parts["audit.json"]
    assert "precast_requests_total" in parts["metrics.txt"]
    assert json.loads(parts["status.json"])["version"]
    assert json.loads(parts["database.json"])["migrations"]
    assert_refused(again, 75, "CLI-013", "it exists")


def test_bundle_without_a_server_lists_the_missing_parts(tmp_path: Path) -> None:
    file = tmp_path / "bundle.tar.gz"
    client = tmp_path / "precast" / "client.toml"
    client.parent.mkdir()
    client.write_text('url = "https://127.0.0.1:1"\nca = "/nowhere"\ntoken = "FILESECRET"\n')
    client.chmod(0o600)
    database = "postgresql://u:FLAGSECRET@127.0.0.1:1/x"
    ran = precast("support-bundle", file, env={"XDG_CONFIG_HOME": str(tmp_path), "PRECAST_DATABASE": database})
    assert ran.code == 0
    parts = parts_of(file)
    assert {"versions.json", "configuration.json", "missing.txt"} <= set(parts)
    assert "status.json: " in parts["missing.txt"]
    assert "database.json: " in parts["missing.txt"]
    everything = "\n".join(parts.values()) + ran.out + ran.err
    assert "FILESECRET" not in everything
    assert "FLAGSECRET" not in everything
