"""Shares the metrics of a server's worker processes, so that each worker can serve the metrics of all.

A scrape reaches any one worker. Its own figures are current, those of the others at most a second old. Every sample has a label with its
worker: a sum would hide that one worker has restarted at zero.
"""

import contextlib
import re
import time
from collections.abc import Mapping
from pathlib import Path

# A worker whose file is older than this has died; its successor overwrites the file.
STALE_S = 10.0
_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")


class MetricsExchange:
    """One worker's side of the directory through which the workers exchange their metrics."""

    def __init__(self, directory: Path, number: int) -> None:
        self._directory = directory
        self._number = number

    def publish(self, text: str) -> None:
        """Write this worker's metrics for the others."""
        draft = self._directory / f".metrics-{self._number}"
        with contextlib.suppress(OSError):  # a full disk must not end the process; the others drop the stale file
            draft.write_text(text)
            draft.replace(self._directory / f"metrics-{self._number}")

    def gather(self, own: str) -> str:
        """The metrics of all workers; `own` are this worker's current ones."""
        texts = {self._number: own}
        for path in self._directory.glob("metrics-*"):
            number = int(path.name.removeprefix("metrics-"))
            with contextlib.suppress(OSError):
                if number != self._number and time.time() - path.stat().st_mtime < STALE_S:
                    texts[number] = path.read_text()
        return merge(texts)


def merge(texts: Mapping[int, str]) -> str:
    """Merge the metrics of several workers into one text: each sample gets the label `worker`, samples of one name stand together."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for number, text in sorted(texts.items()):
        for line in text.splitlines():
            if line.startswith("#"):
                name = line.split()[2]
                heads.setdefault(name, [])
                if line not in heads[name]:
                    heads[name].append(line)
            elif sample := _SAMPLE.fullmatch(line):
                labels = ",".join(filter(None, (f'worker="{number}"', sample["labels"])))
                samples.setdefault(sample["name"], []).append(f"{sample['name']}{{{labels}}} {sample['value']}")
    lines = [line for name in heads for line in (*heads[name], *samples.pop(name, ()))]
    return "\n".join([*lines, *(line for rest in samples.values() for line in rest)]) + "\n"
