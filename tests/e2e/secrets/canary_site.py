"""A site for the search for canaries: one server, a node that applies everything, and nodes whose catalogs do not compile."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.canaries import Canary
from lab.canary_code import make_canaries, write_code
from lab.key_pairs import PUBLIC, encrypt, make_pair
from lab.private_machine import PrivateMachine
from lab.server_process import PRECAST
from lab.site import Site
from lab.vault_server import ROLE_ID, SECRET_ID, VaultThread

DEADLINE_S = 120.0
# The files below the target, with the places whose secrets are in them when everything was applied.
WRITTEN = {
    "direct": ("direct",),
    "hiera": ("hiera",),
    "class_parameter": ("class parameter",),
    "define_parameter": ("define parameter",),
    "epp": ("epp",),
    "inline_epp": ("inline epp",),
    "erb": ("erb",),
    "inline_erb": ("inline erb",),
    "deferred": ("deferred",),
    "deferred_inside": ("deferred inside",),
    "unwrapped": ("unwrapped",),
    "exec_output": ("exec output",),
    "promised": ("promise",),
    "number": ("number",),
    "binary": ("binary",),
    "fact": ("fact",),
    "hole": ("with a hole",),
    "joined": ("concat",),
    "hosts": ("host",),
    "lines": ("ini_setting", "file_line"),
    "eyaml": ("eyaml",),
    "vault": ("vault",),
    "server_file": ("server file",),
    "classification": ("classification",),
}
# Nodes whose catalogs do not compile, and one that collects what the first node exports.
OTHERS = ("failing", "mismatched", "monitor")


class CanarySite:
    """A site with one server, a node that applies everything, and nodes whose catalogs do not compile."""

    def __init__(self, directory: Path, database: str | None) -> None:
        self.directory = directory
        self.target = directory / "target"
        self.target.mkdir()
        self.first, self.second = make_canaries("A"), make_canaries("B")
        self.vault = VaultThread(directory)
        self.site = Site(directory / "site", database, ["--secret-sources", str(directory / "sources.toml")])
        self.machine: PrivateMachine
        self.outputs: list[tuple[str, str]] = []
        self.agent: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._configure_sources()
        # Temporary files, and the core dump that a crash may leave, are in the server's directory.
        script = f'ulimit -c unlimited; cd {self.site.directory}; mkdir tmp; TMPDIR=$PWD/tmp exec "$0" "$@"'
        self.site.run_by(["/bin/sh", "-c", script])
        self.site.__enter__()
        self.machine = PrivateMachine(self.directory / "node", {**self.site.environment, **self._agent_settings()})
        facts = self.directory / "facts.d"
        facts.mkdir()
        (facts / "canary.txt").write_text(f"canary={self.first['fact'].value}\n")
        for name in OTHERS:
            self._enrol(name)
        token = self.site.run("token", "enrol", "web1")["token"]
        self.on_node("agent", "enrol", "--token", token, "--name", "web1")
        self.cli("node", "policy", "set", "web1", "--enforce", "always")

    def _configure_sources(self) -> None:
        """The server gets the keys of eyaml, a directory with secrets, and a login for a Vault."""
        vault = self.vault.__enter__()
        make_pair(self.directory / "site/eyaml/production")
        self._write_private("role", ROLE_ID)
        self._write_private("secret", SECRET_ID)
        self._write_private(
            "sources.toml",
            f"""
            [vault]
            kind = "vault"
            url = "{vault.url}"
            ca = "{vault.ca}"
            role_id_file = "{self.directory / "role"}"
            secret_id_file = "{self.directory / "secret"}"
            environments = {{ production = ["app/"] }}
            [local]
            kind = "file"
            directory = "{self.directory / "files"}"
            environments = {{ production = ["/"] }}
            """,
        )

    def _write_private(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(0o600)
        path.write_text(text)

    def _agent_settings(self) -> dict[str, str]:
        temporary = self.directory / "node/tmp"
        temporary.mkdir(parents=True)
        return {
            "PRECAST_AGENT_FACTS_D": str(self.directory / "facts.d"),
            "PRECAST_AGENT_LOG_LEVEL": "debug",
            "TMPDIR": str(temporary),
        }

    def _enrol(self, name: str) -> None:
        """A node that only sends facts."""
        root = self.directory / name
        root.mkdir()
        token = self.site.run("token", "enrol", name)["token"]
        for words in (["enrol", "--token", token, "--name", name], ["facts"]):
            self._run([PRECAST, "agent", *words, "--root", str(root)], self.site.environment)

    def close(self) -> None:
        if self.agent is not None and self.agent.poll() is None:
            self.agent.kill()
            self.agent.wait()
        self.site.close()
        self.vault.__exit__(None, None, None)

    def cli(self, *words: str) -> str:
        """Run a command of a person; what it prints is looked into, and an error is no failure."""
        return self._run([PRECAST, *words], self.site.environment)

    def on_node(self, *words: str) -> str:
        done = self.machine.precast(*words)
        self.outputs.append((f"node: {' '.join(words[:2])}", done.stdout + done.stderr))
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    def _run(self, words: list[str], environment: dict[str, str]) -> str:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)
        self.outputs.append((" ".join(words[1:4]), done.stdout + done.stderr))
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    def deploy(self, canaries: dict[str, Canary]) -> None:
        code = self.directory / "code"
        shutil.rmtree(code, ignore_errors=True)
        public = self.directory / "site/eyaml/production" / PUBLIC
        write_code(code, canaries, self.target, lambda text: encrypt(text, public))
        self._write_private("files/production/common.yaml", f"from_server_file: {canaries['server file'].value}\n")
        self.vault.vault.put("secret", "app/web", {"from_vault": canaries["vault"].value})
        (self.directory / "facts.d/canary.txt").write_text(f"canary={canaries['fact'].value}\n")
        given = {"app::given": {"secret": canaries["classification"].value, "target": str(self.target)}}
        self.cli("node", "set", "web1", "classes", json.dumps(given))
        self.cli("env", "deploy", "production", "--from", str(code), "--json")
        self.cli("secrets", "refresh", "vault")
        self.cli("secrets", "refresh", "local")
        self.on_node("agent", "facts")

    def collect(self, canary: Canary) -> None:
        """Have the collecting node apply what the first node exports."""
        root, environment = self.directory / "monitor", self.site.environment

        def apply() -> str:
            self.cli("release", "monitor")
            for words in (["fetch"], ["apply", "--json"]):
                self._run([PRECAST, "agent", *words, "--root", str(root)], environment)
            path = root / str(self.target).lstrip("/") / "exported"
            return path.read_text() if path.exists() else ""

        (root / str(self.target).lstrip("/")).mkdir(parents=True, exist_ok=True)
        self.until(apply, lambda content: canary.value in content)

    def apply(self, canaries: dict[str, Canary]) -> None:
        """Release what is staged for the first node, and have it applied, until all secrets of this generation are on the node.

        Changed code and changed sources may lead to one catalog after the other.
        """

        def apply() -> set[str]:
            self.cli("release", "web1", "--preview")
            self.cli("catalog", "diff", "web1")
            self.cli("release", "web1", "--json")
            shown = self.cli("catalog", "show", "web1", "--json")
            released = json.loads(shown)["released"] if shown.startswith("{") else None
            if released is not None:
                if self.agent is None:
                    self.agent = self.machine.start(self.directory / "agent.log", PRECAST, "agent")
                self.until_applied(released)
            return self.missing(canaries)

        self.until(apply, lambda missing: not missing)

    def missing(self, canaries: dict[str, Canary]) -> set[str]:
        """The files that do not have their secrets yet."""
        paths = {name: self.target / name for name in WRITTEN}
        return {
            name
            for name, places in WRITTEN.items()
            for place in places
            if not paths[name].exists() or canaries[place].value not in paths[name].read_text()
        }

    def until(self, read: Callable[[], Any], is_so: Callable[[Any], bool]) -> Any:
        end_s = time.monotonic() + DEADLINE_S
        while not is_so(found := read()):
            assert time.monotonic() < end_s, (found, self.site.log[-4000:], self.node_log[-4000:])
            time.sleep(0.2)
        return found

    @property
    def node_log(self) -> str:
        path = self.directory / "agent.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def until_applied(self, digest: str) -> None:
        """Wait for the run of a catalog, and until the server has its report."""

        def status() -> dict[str, Any]:
            shown = self.on_node("agent", "status", "--json")
            decoded: dict[str, Any] = json.loads(shown) if shown.startswith("{") else {}
            return decoded

        self.until(status, lambda status: status.get("run", {}).get("catalog") == digest)
        self.until(status, lambda status: status["spool"]["unsent"] + status["spool"]["unacknowledged"] == 0)
