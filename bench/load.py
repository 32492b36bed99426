"""The process of the nodes: a load that connects before anything is timed, then answers each order, with a line or with two."""

import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

from lab.fact_load import ALL_ANSWERED, Sent

ROOT = Path(__file__).resolve().parent.parent
Form = TypeVar("Form", bound=msgspec.Struct)


class Load:
    """Made by `python -m MODULE WORDS`, in a process of its own; whoever makes it closes it."""

    def __init__(self, module: str, *words: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, words)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._readline() == "connected\n", "the load could not connect"

    def ask(self, order: msgspec.Struct, form: type[Form]) -> Form:
        """What it answers to an order."""
        self._order(order)
        return msgspec.json.decode(self._readline(), type=form)

    def send(self, order: msgspec.Struct) -> Sent:
        """Have something sent by every node, by a load that answers with one line. Raises RuntimeError if not everything was taken."""
        self._order(order)
        return self.sent()

    def send_all(self, order: msgspec.Struct) -> None:
        """The same with a load that says when all is answered, before it looks at the answers: what it thinks of them is `sent`."""
        self._order(order)
        assert self._readline() == ALL_ANSWERED + "\n", "the load could not go on"

    def sent(self) -> Sent:
        """What became of what was sent. Raises RuntimeError if not everything was taken."""
        sent = msgspec.json.decode(self._readline(), type=Sent)
        if sent.accepted != sent.sent:
            raise RuntimeError(f"{sent.sent - sent.accepted} of {sent.sent} were refused: {sent.refused}")
        return sent

    def close(self) -> None:
        self._process.communicate()

    def _order(self, order: msgspec.Struct) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order).decode() + "\n")
        self._process.stdin.flush()

    def _readline(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()
