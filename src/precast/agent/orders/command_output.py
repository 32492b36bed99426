"""What a command says, as lines in their order, within a bound: what goes beyond is counted and dropped."""

from typing import Literal

from precast.wire.jobs.orders import MAX_LINE_CHARS, Line

Stream = Literal["out", "err"]


class Output:
    """Cuts bytes into lines. Lines of both streams are in the order in which they were complete."""

    def __init__(self, limit_bytes: int) -> None:
        self._left_bytes = limit_bytes
        self._rest: dict[Stream, bytes] = {"out": b"", "err": b""}
        self._ready: list[Line] = []
        self.count = 0
        self.cut_bytes = 0

    def add(self, stream: Stream, data: bytes) -> None:
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        for line in lines:
            self._line(stream, line)
        # A line without an end is not waited for for ever.
        while len(rest) > MAX_LINE_CHARS:
            self._line(stream, rest[:MAX_LINE_CHARS])
            rest = rest[MAX_LINE_CHARS:]
        self._rest[stream] = rest

    def finish(self) -> None:
        """Nothing more comes: what is left is a line, too."""
        for stream, rest in self._rest.items():
            if rest:
                self._line(stream, rest)
        self._rest = {"out": b"", "err": b""}

    def take(self) -> tuple[int, list[Line]]:
        """The lines since the last time, and the number of the first of them."""
        lines, self._ready = self._ready, []
        self.count += len(lines)
        return self.count - len(lines), lines

    @property
    def ready_bytes(self) -> int:
        return sum(len(line.text) for line in self._ready)

    def _line(self, stream: Stream, data: bytes) -> None:
        for at in range(0, max(len(data), 1), MAX_LINE_CHARS):
            part = data[at : at + MAX_LINE_CHARS]
            if len(part) + 1 > self._left_bytes:
                # From the first that has no room on nothing is kept: what is shown is the beginning, whole.
                self._left_bytes = 0
                self.cut_bytes += len(part) + 1
                continue
            self._left_bytes -= len(part) + 1
            self._ready.append(Line(stream, part.decode(errors="replace")))
