"""`puppetdb_query` from end to end: a real server, nodes that send facts, and a catalog that follows the result of its query."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from lab.server_process import PRECAST
from lab.site import Site
from precast.agent.identity.enrolment import Identity
from precast.base import digests, https

pytestmark = pytest.mark.timeout(180)

DEADLINE_S = 90.0
CODE = """
if $trusted['certname'] == 'monitor' {
  puppetdb_query('inventory[certname, facts.port] { facts.port > 0 }').each |$row| {
    notify { "watch ${row['certname']}:${row['facts.port']}": }
  }
}
"""


def send_facts(site: Site, node: Identity, **facts: object) -> None:
    body = {"digest": digests.of_value(facts), "volatile": {}, "stable": facts}
    sent = https.call(site.url, node.context(), "POST", "/v1/facts", json.dumps(body).encode())
    assert sent.status == 200, sent


def command(site: Site, *words: str) -> str:
    return subprocess.run([PRECAST, *words], env=site.environment, capture_output=True, text=True, check=False).stdout


def until(site: Site, text: str, *words: str) -> None:
    """Run a command until its output contains a text."""
    end_s = time.monotonic() + DEADLINE_S
    while text not in (out := command(site, *words)):
        assert time.monotonic() < end_s, out


def test_catalog_follows_the_result_of_its_query(tmp_path: Path) -> None:
    code = tmp_path / "code" / "manifests"
    code.mkdir(parents=True)
    (code / "site.pp").write_text(CODE)
    with Site(tmp_path / "site") as site:
        site.run("env", "deploy", "production", "--from", str(code.parent))
        monitor, web = site.enrol("monitor"), site.enrol("web1")
        send_facts(site, web, port=80)
        send_facts(site, monitor, x=1)
        until(site, "staged", "catalog", "show", "monitor")
        site.run("release", "monitor")
        until(site, "watch web1:80", "query", "resources", "type = Notify")
        send_facts(site, web, port=8080)
        until(site, "Notify[watch web1:8080] added", "catalog", "diff", "monitor")
        assert "fleet" in command(site, "catalog", "why", "monitor")
