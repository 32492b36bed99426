"""Three nodes with running daemons and released catalogs, and the commands that act on them."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.agent_process import AgentProcess
from lab.server_process import PRECAST
from lab.site import Site

DEADLINE_S = 60.0
NODES = ("web1", "web2", "web3")


class Fleet:
    """Web1, web2 and web3, or other nodes; all but web3 allow commands."""

    def __init__(
        self, site: Site, directory: Path, profile: str, files: Mapping[str, str], nodes: Sequence[str] = NODES
    ) -> None:
        self.site = site
        self.nodes = nodes
        self.code = directory / "code"
        manifests = self.code / "modules/profile/manifests"
        manifests.mkdir(parents=True)
        (self.code / "manifests").mkdir()
        (self.code / "manifests/site.pp").write_text("include profile\n")
        (manifests / "init.pp").write_text(profile)
        for name, text in files.items():
            (self.code / name).parent.mkdir(parents=True, exist_ok=True)
            (self.code / name).write_text(text)
        self.commit = self._commit()
        self.agents = {name: self._node(name) for name in nodes}

    def _commit(self) -> str:
        ours = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        for words in (
            ["init", "-qb", "main"],
            ["add", "."],
            [*ours, "commit", "-qm", "a profile"],
            ["rev-parse", "HEAD"],
        ):
            done = subprocess.run(["git", *words], cwd=self.code, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def _node(self, name: str) -> AgentProcess:
        self.site.enrol(name)
        root = self.site.directory / "nodes" / name
        (root / "etc/precast").mkdir(parents=True, exist_ok=True)
        (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')
        if name != "web3":
            (root / "etc/precast/agent.toml").write_text("allow_exec = true\n")
        return AgentProcess(root, self.site.url)

    def release(self) -> None:
        self.site.run("env", "deploy", "production", "--git", str(self.code), "--ref", "main")
        self.site.run("release", *self.nodes, "--wait")

    def command(self, *words: str, code: int = 0, token: str = "") -> str:
        environment = {**self.site.environment, **({"PRECAST_TOKEN": token} if token else {})}
        done = subprocess.run([PRECAST, *words], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    def read(self, *words: str, code: int = 0, token: str = "") -> Any:
        at = words.index("--") if "--" in words else len(words)
        return json.loads(self.command(*words[:at], "--json", *words[at:], code=code, token=token))

    def token(self, person: str) -> str:
        """A new token with the role for commands."""
        return str(self.site.run("token", "person", person, "--role", "commands")["token"])

    def steps(self, run: str) -> dict[str, Any]:
        return steps_of(self.read("run", "show", run))

    def until(self, run: str, is_so: Callable[[Any], bool]) -> Any:
        """Wait until the view of a run meets a condition, and return the answer with its steps."""
        end_s = time.monotonic() + DEADLINE_S
        while not is_so((answer := self.read("run", "show", run))["run"]):
            assert time.monotonic() < end_s, answer
        return answer

    def until_true(self, is_so: Callable[[], bool]) -> bool:
        """Wait until something is so; False at the deadline."""
        end_s = time.monotonic() + DEADLINE_S
        while not is_so():
            if time.monotonic() > end_s:
                return False
        return True

    def until_ended(self, run: str) -> Any:
        return self.until(run, lambda view: view["ended_at"] is not None)

    @contextmanager
    def down(self, name: str) -> Iterator[AgentProcess]:
        """A node whose daemon is down during the block; the server knows that it is away."""
        agent = self.agents[name]
        agent.stop()
        try:
            end_s = time.monotonic() + DEADLINE_S
            while self.site.run("node", "show", name)["node"]["state"] != "away":
                assert time.monotonic() < end_s
            yield agent
        finally:
            agent.start()


def steps_of(answer: Any) -> dict[str, Any]:
    """The steps of a run by node."""
    return {step["node"]: step for step in answer["steps"]}


def state_of(step: Any) -> str:
    """The state of a step with its reason."""
    reason = step.get("reason")
    return f"{step['state']}({reason})" if reason else str(step["state"])


@contextmanager
def running_fleet(
    directory: Path, profile: str, files: Mapping[str, str] | None = None, nodes: Sequence[str] = NODES
) -> Iterator[Fleet]:
    """A fleet with this profile class and these files in its environment, whose policy lets ordered runs enforce."""
    with Site(directory / "site") as site:
        created = Fleet(site, directory, profile, files or {}, nodes)
        try:
            for agent in created.agents.values():
                agent.start()
            for agent in created.agents.values():
                agent.until_settled()
            site.run("node", "policy", "set", *nodes, "--enforce", "triggered")
            for agent in created.agents.values():
                agent.until(lambda status: status.get("policy", {}).get("enforce") == "triggered")
            created.release()
            yield created
        finally:
            for agent in created.agents.values():
                if agent.process is not None:
                    agent.kill()
