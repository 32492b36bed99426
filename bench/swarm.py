"""The cost of a connected fleet: memory for each session, the reconnect of all nodes after a crash, and the size of an idle agent.

    .venv/bin/python bench/swarm.py [--quick]

A real server with its database has thousands of sessions over TLS 1.3 with client certificates from one other process, which connects
and reconnects exactly as an agent does. Memory is the server's resident set. The agent is the real daemon, after its first facts.
1,000 sessions, 5,000 in the full run, which writes bench/results/swarm.json; the quick one (under a minute) writes nothing.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.report import Goal, finish, parse_quick, print_rows
from lab import fleet
from lab.server_process import PRECAST
from lab.site import Site

QUICK, FULL, PEER = 1_000, 5_000, 1_000
FEW = 50
TARGET_KB, TARGET_HANDSHAKES, TARGET_RSS_MB = 60, 1.5, 35
DEADLINE_S = 180.0
SETTLE_S = 3.0


class Clients:
    """The swarm's process, and its last reported counters."""

    def __init__(self, url: str, directory: Path, count: int) -> None:
        command = [sys.executable, "-m", "lab.swarm", url, str(directory), str(count)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said: dict[str, Any] = {"connected": 0, "handshakes": 0, "unreachable": 0, "failures": {}}

    def until(self, is_so: Callable[[dict[str, Any]], bool]) -> float:
        """Read counters until they meet a condition, and return the seconds that took."""
        began_s = time.monotonic()
        assert self._process.stdout is not None
        while not is_so(self.said):
            line = self._process.stdout.readline()
            if not line or time.monotonic() - began_s > DEADLINE_S:
                raise SystemExit(f"the swarm did not reach the expected state: {self.said}")
            self.said = json.loads(line)
        return time.monotonic() - began_s

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


@contextmanager
def clients(url: str, directory: Path, count: int) -> Iterator[Clients]:
    swarm = Clients(url, directory, count)
    try:
        swarm.until(lambda said: said["connected"] == count)
        time.sleep(SETTLE_S)
        yield swarm
    finally:
        swarm.end()


def rss_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")))


def cost_kb(pid: int, url: str, directory: Path, count: int) -> tuple[float, Clients]:
    """Memory for each session beyond the first few, and the connected clients."""
    with clients(url, directory, FEW):
        before = rss_kb(pid)
    swarm = Clients(url, directory, count)
    swarm.until(lambda said: said["connected"] == count)
    time.sleep(SETTLE_S)
    return (rss_kb(pid) - before) / (count - FEW), swarm


def measure_server(directory: Path, count: int) -> dict[str, float]:
    with Site(directory / "site") as site:
        nodes = directory / "nodes"
        fleet.enrol(site.directory, str(site.directory / "precast.db"), nodes, count)
        each_kb, swarm = cost_kb(site.pid, site.url, nodes, count)
        try:
            before = dict(swarm.said)
            site.kill()
            swarm.until(lambda said: said["connected"] == 0)
            began_s = time.monotonic()
            site.start()
            swarm.until(lambda said: said["connected"] == count)
            return {
                "server_kb_each": each_kb,
                "return_s": time.monotonic() - began_s,
                "handshakes_each": (swarm.said["handshakes"] - before["handshakes"]) / count,
                "refused_each": (swarm.said["unreachable"] - before["unreachable"]) / count,
            }
        finally:
            swarm.end()


def measure_websockets(directory: Path) -> float:
    """Memory for each session of a server with the `websockets` library on the standard library's event loop."""
    site = directory / "site"
    command = [
        sys.executable,
        str(Path(__file__).parent / "peers" / "sessions_websockets.py"),
        *map(str, make_certificate(directory / "site", directory)),
        str(site / "authority" / "certificate.pem"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            each_kb, swarm = cost_kb(process.pid, f"https://127.0.0.1:{port}", directory / "nodes", PEER)
            swarm.end()
            return each_kb
        finally:
            process.kill()


def make_certificate(site: Path, directory: Path) -> tuple[Path, Path]:
    """A server certificate of the site's authority, and its key, as files in a directory."""
    from cryptography.hazmat.primitives.asymmetric import ec

    from precast.base.clock import SystemClock
    from precast.services.identity.authority_files import AuthorityFiles
    from precast.services.identity.certificates import certificate_pem, private_pem

    key = ec.generate_private_key(ec.SECP256R1())
    authority = AuthorityFiles(site / "authority").load()
    certificate = authority.sign_server(key.public_key(), ["localhost", "127.0.0.1"], SystemClock().now())
    (directory / "peer.pem").write_text(certificate_pem(certificate))
    (directory / "peer.key").write_bytes(private_pem(key))
    return directory / "peer.pem", directory / "peer.key"


def measure_agent(directory: Path) -> float:
    """The resident set, in MB, of a real agent: connected, its facts sent, idle."""
    with Site(directory / "agent-site") as site:
        site.enrol("idle1")
        root = site.directory / "nodes" / "idle1"
        command = [PRECAST, "agent", "--root", str(root), "--url", site.url]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                until_s = time.monotonic() + DEADLINE_S
                while not _has_facts(site, "idle1"):
                    if time.monotonic() > until_s:
                        raise SystemExit("the agent has sent no facts")
                    time.sleep(0.2)
                time.sleep(SETTLE_S)
                return rss_kb(process.pid) / 1024
            finally:
                process.terminate()
                process.wait(30)


def _has_facts(site: Site, node: str) -> bool:
    try:
        return bool(site.run("facts", "show", node))
    except subprocess.CalledProcessError:
        return False


def measure_puppet() -> float | None:
    """The resident set of Puppet's agent while it waits for its certificate, or None without it."""
    if shutil.which("puppet") is None:
        return None
    with tempfile.TemporaryDirectory() as home:
        words = ["--confdir", f"{home}/etc", "--vardir", f"{home}/var", "--server", "127.0.0.1", "--masterport", "9"]
        command = ["puppet", "agent", "--no-daemonize", "--waitforcert", "600", *words]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(15)
            mb = rss_kb(process.pid) / 1024 if process.poll() is None else None
            process.kill()
            return mb


def main() -> None:
    is_quick = parse_quick(__doc__)
    count = QUICK if is_quick else FULL
    with tempfile.TemporaryDirectory(prefix="precast-swarm-") as name:
        directory = Path(name)
        figures: dict[str, Any] = {"sessions": count, **measure_server(directory, count)}
        figures["websockets_kb_each"] = None if is_quick else measure_websockets(directory)
        figures["agent_rss_mb"] = measure_agent(directory)
        figures["puppet_agent_rss_mb"] = None if is_quick else measure_puppet()
    print_rows(
        ["what", "ours", "beside us"],
        [
            ["server memory for each session, KB", figures["server_kb_each"], figures["websockets_kb_each"]],
            ["after kill -9: all back, seconds", figures["return_s"], None],
            ["after kill -9: handshakes for each", figures["handshakes_each"], None],
            ["after kill -9: refused connections for each", figures["refused_each"], None],
            ["idle agent, MB", figures["agent_rss_mb"], figures["puppet_agent_rss_mb"]],
        ],
    )
    print("beside us: a server with `websockets` and the standard library's TLS (1,000 sessions); `puppet agent`\n")
    finish(
        "swarm",
        is_quick,
        figures,
        [
            _at_most("swarm-kb", figures["server_kb_each"], TARGET_KB),
            _at_most("swarm-return", figures["handshakes_each"], TARGET_HANDSHAKES),
            _at_most("agent-rss", figures["agent_rss_mb"], TARGET_RSS_MB),
        ],
    )


def _at_most(goal: str, value: float, target: float) -> Goal:
    return Goal(goal, round(value, 2), target, value <= target)


if __name__ == "__main__":
    main()
