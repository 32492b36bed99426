"""Runs `lab.flood` in a process of its own, and reads the server's counts of refused connections."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.site import Site
from precast.base import https

DEADLINE_S = 60.0
_REFUSED = re.compile(r'precast_connections_refused_total\{reason="([^"]+)"\} (\d+)')


class FloodProcess:
    """A flood in progress. `outcomes` is filled when it has ended: what became of the strangers' attempts, by kind."""

    def __init__(self, port: int, authority: Path, sources: Sequence[str]) -> None:
        command = [sys.executable, "-m", "lab.flood", "127.0.0.1", str(port), str(authority), *sources]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "flooding\n"
        self.outcomes: Mapping[str, Mapping[str, int]] = {}

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self.outcomes = json.loads(self._process.stdout.readline())
        self._process.wait(DEADLINE_S)
        self._process.stdout.close()


@contextmanager
def flooded(site: Site, sources: Sequence[str]) -> Iterator[FloodProcess]:
    """A site that strangers flood from these addresses, inside the block."""
    flood = FloodProcess(site.port, Path(site.environment["PRECAST_CA"]), sources)
    try:
        yield flood
    finally:
        flood.end()


def read_refused(site: Site) -> dict[str, int]:
    """How many connections the server has refused, by reason."""
    context = https.trust_authority(Path(site.environment["PRECAST_CA"]).read_text())
    headers = {"Authorization": f"Bearer {site.environment['PRECAST_TOKEN']}"}
    text = https.call(site.url, context, "GET", "/metrics", headers=headers).body.decode()
    return {reason: int(count) for reason, count in _REFUSED.findall(text)}
