"""A compile sees the same node everywhere: on a server, with `compile` and `lookup` for a node of the server, and with `apply`."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.server_process import PRECAST
from lab.site import Site
from precast.agent.identity.enrolment import Identity
from precast.base import digests, https

NODE = "web1.example.com"
# What each of them prints about the node, the server's own data last: `apply` has no server.
OF_THE_NODE = (
    "clientcert=%{clientcert} clientversion=%{clientversion} clientnoop=%{clientnoop} puppetversion=%{facts.puppetversion}"
    " osfamily=%{osfamily} operatingsystem=%{facts.operatingsystem} family=%{facts.os.family} hostname=%{hostname}"
    " rack=%{facts.rack} role=%{trusted.extensions.pp_role} certname=%{trusted.certname} domain=%{trusted.domain}"
)
OF_THE_SERVER = (
    "environment=%{environment} servername=%{servername} tier=%{tier} authenticated=%{trusted.authenticated}"
)
STABLE = {
    "os": {"family": "RedHat", "name": "Rocky", "release": {"major": "9"}},
    "networking": {"hostname": "web1", "fqdn": NODE},
    "rack": "r7",
}


def interpolated(text: str) -> str:
    """The same text as Puppet code."""
    parts = text.split("%{")
    code = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition("}")
        first, *keys = name.split(".")
        code.append("${" + first + "".join(f"['{key}']" for key in keys) + "}" + rest)
    return "".join(code)


def make_environment(place: Path) -> Path:
    files = {
        "manifests/site.pp": f'notify {{ "node": message => "{interpolated(OF_THE_NODE)}" }}\n'
        f'notify {{ "server": message => "{interpolated(OF_THE_SERVER)}" }}\n',
        "hiera.yaml": "version: 5\nhierarchy: [{name: common, path: common.yaml}]\n",
        "data/common.yaml": json.dumps({"node": OF_THE_NODE, "server": OF_THE_SERVER}),
    }
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


class Commands:
    """A site with one node that was classified, and the commands of a person."""

    def __init__(self, site: Site, directory: Path) -> None:
        self.site, self.directory = site, directory
        self.code = make_environment(directory / "code")
        token = site.run("token", "enrol", NODE, "--extension", "pp_role=web")["token"]
        self.identity = Identity(directory / "node")
        self.identity.enrol(site.url, token, NODE)
        site.run("node", "set", NODE, "environment", "staging")
        site.run("node", "set", NODE, "parameters", "tier=gold")
        self.submit(STABLE)

    def submit(self, stable: dict[str, Any]) -> None:
        body = {"digest": digests.of_value(stable), "volatile": {}, "stable": stable}
        came = https.call(self.site.url, self.identity.context(), "POST", "/v1/facts", json.dumps(body).encode())
        assert came.status == 200, came

    def run(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [PRECAST, *words], env=self.site.environment, cwd=self.directory, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout if code == 0 else done.stderr

    def served(self) -> dict[str, str]:
        """The messages in the catalog that the server compiled."""
        self.site.run("env", "deploy", "staging", "--from", str(self.code))
        self.run("release", NODE, "--wait", "60s")
        catalog = https.call(self.site.url, self.identity.context(), "GET", "/v1/catalog")
        return messages(json.loads(catalog.body))


def messages(catalog: dict[str, Any]) -> dict[str, str]:
    return {each["title"]: each["parameters"]["message"] for each in catalog["resources"] if each["type"] == "Notify"}


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    directory = tmp_path_factory.mktemp("inputs")
    with Site(directory / "site") as site:
        yield Commands(site, directory)


def test_server_compile_lookup_and_apply_see_the_same_node(commands: Commands, tmp_path: Path) -> None:
    served = commands.served()
    assert "clientversion=7.23.0 clientnoop=false" in served["node"]
    assert "osfamily=RedHat operatingsystem=Rocky family=RedHat hostname=web1 rack=r7 role=web" in served["node"]
    assert "domain=example.com" in served["node"]
    assert served["server"].startswith("environment=staging servername=")
    assert served["server"].endswith("tier=gold authenticated=remote")
    of_server = ("--environment", str(commands.code), "--node", NODE, "--from-server")
    assert messages(json.loads(commands.run("compile", *of_server, "--json"))) == served
    assert {key: commands.run("lookup", key, *of_server).strip() for key in ("node", "server")} == served
    # Without a server: facts from a file, certificate extensions as options.
    (tmp_path / "facts.json").write_text(json.dumps(STABLE))
    given = ("--node", NODE, "--facts", str(tmp_path / "facts.json"), "--extension", "pp_role=web")
    local = ("--environment", str(commands.code), *given)
    assert messages(json.loads(commands.run("compile", *local, "--json")))["node"] == served["node"]
    assert commands.run("lookup", "node", *local).strip() == served["node"]
    evaluated = commands.run("eval", f'"{interpolated(OF_THE_NODE)}"', *given)
    assert evaluated.strip() == served["node"]
    applied = commands.run("apply", *local, "--noop", "--state", str(tmp_path / "state"), "-v")
    assert served["node"] in applied
    assert "environment=production servername= tier= authenticated=local" in applied  # as `puppet apply` has it


def test_options_override_what_the_server_has(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "facts.yaml").write_text("os: {family: Debian}\n")
    of_server = ("--environment", str(commands.code), "--node", NODE, "--from-server")
    other = commands.run(
        "lookup", "node", *of_server, "--facts", str(tmp_path / "facts.yaml"), "--extension", "pp_role=db"
    )
    assert "family=Debian" in other
    assert "rack=r7" not in other
    assert "role=db" in other


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--node", "nobody", "--from-server"), "there is no node nobody"),
        (("--node", "nobody", "--extension", "pp_role"), "NAME=VALUE"),
        (("--node", NODE, "--from-server", "--url", "https://127.0.0.1:1"), "127.0.0.1:1"),
    ],
)
def test_mistake_is_one_clear_line(commands: Commands, words: tuple[str, ...], told: str) -> None:
    done = subprocess.run(
        [PRECAST, "compile", "--environment", str(commands.code), *words],
        env=commands.site.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_node_that_sent_no_facts_is_reported(commands: Commands) -> None:
    commands.site.enrol("silent.example.com")
    told = commands.run(
        "compile", "--environment", str(commands.code), "--node", "silent.example.com", "--from-server", code=66
    )
    assert "silent.example.com has sent no facts" in told
