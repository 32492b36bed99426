"""Starts and controls the process of the nodes: it connects before the clock starts, then answers each batch with one or two lines."""

import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

from lab.fact_load import ALL_ANSWERED, SendResult

ROOT = Path(__file__).resolve().parent.parent
Form = TypeVar("Form", bound=msgspec.Struct)


class Load:
    """A process `python -m MODULE WORDS`. The caller must close it."""

    def __init__(self, module: str, *words: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, words)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._readline() == "connected\n", "the load could not connect"

    def ask(self, batch: msgspec.Struct, form: type[Form]) -> Form:
        """What it answers to an batch."""
        self._send_batch(batch)
        return msgspec.json.decode(self._readline(), type=form)

    def send(self, batch: msgspec.Struct) -> SendResult:
        """Have something sent by every node, by a load that answers with one line. Raises RuntimeError if not everything was taken."""
        self._send_batch(batch)
        return self.sent()

    def send_all(self, batch: msgspec.Struct) -> None:
        """Send a batch with a load that reports the arrival of all responses before it checks them; `sent` then returns the result."""
        self._send_batch(batch)
        assert self._readline() == ALL_ANSWERED + "\n", "the load failed"

    def sent(self) -> SendResult:
        """The result of the last batch. Raises RuntimeError if the server refused a part of it."""
        sent = msgspec.json.decode(self._readline(), type=SendResult)
        if sent.accepted != sent.sent:
            raise RuntimeError(f"{sent.sent - sent.accepted} of {sent.sent} were refused: {sent.refused}")
        return sent

    def close(self) -> None:
        self._process.communicate()

    def _send_batch(self, batch: msgspec.Struct) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(batch).decode() + "\n")
        self._process.stdin.flush()

    def _readline(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()
