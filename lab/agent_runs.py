"""Runs of real agents on nodes below a directory, for tests of the reports that they send."""

import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from lab.agent_process import DEADLINE_S, AgentProcess
from lab.server_process import PRECAST
from lab.site import Site

FILES = 60


def enrolled(site: Site, name: str) -> AgentProcess:
    site.enrol(name)
    return AgentProcess(site.directory / "nodes" / name, site.url)


def compiled(root: Path, code: str) -> Path:
    """Compile code to a catalog file below a node's root."""
    (root / "env/manifests").mkdir(parents=True, exist_ok=True)
    (root / "env/manifests/site.pp").write_text(code)
    words = [PRECAST, "compile", "--environment", str(root / "env"), "--node", "node.example", "--json"]
    done = subprocess.run(words, capture_output=True, check=True)
    catalog = root / "given.json"
    catalog.write_bytes(done.stdout)
    return catalog


def apply(root: Path, catalog: Path, *words: str) -> int:
    done = subprocess.run(
        [PRECAST, "agent", "apply", "--root", root, "--catalog", catalog, "--json", *words],
        capture_output=True,
        check=False,
    )
    return done.returncode


@contextmanager
def paused(root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that blocks in the middle: its output is not read, and is larger than the pipe's buffer."""
    (root / "d").mkdir()
    for number in range(FILES):
        (root / "d" / str(number)).write_text("old\n")
    text = "line\n" * 1000
    catalog = compiled(root, "\n".join(f"file {{ '/d/{number}': content => '{text}' }}" for number in range(FILES)))
    with subprocess.Popen(
        [PRECAST, "agent", "apply", "--root", root, "--catalog", catalog], stdout=subprocess.PIPE
    ) as running:
        yield running


def reports(site: Site, *words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = site.run("report", "list", *words)
    return rows


def until(read: Callable[[], Any]) -> Any:
    """Call `read` until its result is true or not empty, and return the result."""
    until_s = time.monotonic() + DEADLINE_S
    while not (result := read()):
        assert time.monotonic() < until_s
        time.sleep(0.05)
    return result


def spooled(root: Path) -> bytes:
    with closing(sqlite3.connect(root / "var/lib/precast/agent/state.db", timeout=30)) as store:
        rows = store.execute("SELECT body FROM record WHERE kind LIKE 'run-%' ORDER BY id").fetchall()
    return b"\n".join(body for (body,) in rows)
