"""A Sensitive from the manifest to everything that people see of it: no preview, difference, explanation, query, report, log or bundle
shows it."""

import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.agent_runs import apply, compiled, enrolled, reports, spooled, until
from lab.server_process import PRECAST
from lab.site import Site

pytestmark = pytest.mark.timeout(240)

SECRET = "kz8-Sekret-Wert-1"
CODE = f"""
define app (Hash $settings) {{
  notify {{ "app $title": message => $settings }}
}}
$secret = Sensitive('{SECRET}%s')
app {{ 'one': settings => {{ 'password' => $secret, 'list' => [$secret, {{ 'deep' => $secret }}] }} }}
file {{ '/etc/app.conf': content => $secret, validate_cmd => '/bin/cat %% >&2; /bin/false' }}
host {{ 'db': ip => '10.0.0.1', target => '/etc/lines', comment => $secret }}
notify {{ 'text': message => "it is $secret" }}
notify {{ 'late': message => Deferred('sprintf', ['pw=%%s', $secret]) }}
exec {{ '/bin/false': environment => ['A=1', $secret], logoutput => true }}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site") / "data") as running:
        yield running


class Told:
    """Everything that commands print."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.texts: list[str] = []

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [PRECAST, *words], env=self._site.environment, capture_output=True, text=True, check=False
        )
        self.texts += [done.stdout, done.stderr]
        return done


def test_sensitive_is_in_nothing_that_people_see(site: Site, tmp_path: Path) -> None:
    told = Told(site)
    source = tmp_path / "code"
    (source / "manifests").mkdir(parents=True)
    with enrolled(site, "web1") as agent:
        agent.until_connected()
        for text in ("", "-second"):
            code = CODE % text
            (source / "manifests/site.pp").write_text(code)
            site.run("env", "deploy", "production", "--from", str(source))
            until(lambda: told.run("release", "web1", "--wait", "--preview").stdout.count("Notify[app one]"))
            for words in (
                ("release", "web1", "--preview"),
                ("release", "web1", "--preview", "--json"),
                ("catalog", "diff", "web1"),
                ("catalog", "diff", "web1", "--json"),
                ("catalog", "why", "web1", "--json"),
                ("catalog", "show", "web1", "--json"),
                ("node", "show", "web1", "--json"),
            ):
                assert told.run(*words).returncode == 0, words
            site.run("release", "web1")
        (agent.root / "etc").mkdir(exist_ok=True)
        (agent.root / "etc/lines").write_text("10.0.0.1 db # older\n")
        apply(agent.root, compiled(agent.root, CODE % ""))
        apply(agent.root, compiled(agent.root, CODE % ""), "--noop")
        until(lambda: len(reports(site, "--node", "web1", "--state", "ended")) >= 2)
        assert SECRET.encode() not in spooled(agent.root)
    told.run("report", "show", "web1")
    told.run("report", "show", "web1", "--json")
    told.run("audit", "--json")
    until(lambda: told.run("query", "resources", "--fields", "node,type,title,parameters", "--json").returncode == 0)
    bundle = tmp_path / "bundle.tar.gz"
    assert told.run("support-bundle", str(bundle)).returncode == 0
    with tarfile.open(bundle) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member)
            told.texts.append("" if file is None else file.read().decode(errors="replace"))
    for text in told.texts:
        assert SECRET not in text, text[max(0, text.find(SECRET) - 300) : text.find(SECRET) + 100]
    everything = json.dumps(told.texts)
    assert "(sensitive)" in everything
    assert "[redacted]" in everything
