"""The output of a command as lines in their order, up to a bound: bytes beyond it are counted and dropped."""

from typing import Literal

from precast.wire.jobs.orders import MAX_LINE_CHARS, OutputLine

Stream = Literal["out", "err"]


class CommandOutput:
    """Splits the bytes of both streams into lines, in the order in which the lines were complete."""

    def __init__(self, limit_bytes: int) -> None:
        self._left_bytes = limit_bytes
        self._rest: dict[Stream, bytes] = {"out": b"", "err": b""}
        self._ready: list[OutputLine] = []
        self.count = 0
        self.cut_bytes = 0

    def add(self, stream: Stream, data: bytes) -> None:
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        for line in lines:
            self._add_line(stream, line)
        # A line that is too long is passed on in parts, without waiting for its end.
        while len(rest) > MAX_LINE_CHARS:
            self._add_line(stream, rest[:MAX_LINE_CHARS])
            rest = rest[MAX_LINE_CHARS:]
        self._rest[stream] = rest

    def finish(self) -> None:
        """End both streams; an unfinished line is a line, too."""
        for stream, rest in self._rest.items():
            if rest:
                self._add_line(stream, rest)
        self._rest = {"out": b"", "err": b""}

    def take(self) -> tuple[int, list[OutputLine]]:
        """Return the lines since the last call, and the number of the first of them."""
        lines, self._ready = self._ready, []
        self.count += len(lines)
        return self.count - len(lines), lines

    @property
    def ready_bytes(self) -> int:
        return sum(len(line.text) for line in self._ready)

    def _add_line(self, stream: Stream, data: bytes) -> None:
        for start in range(0, max(len(data), 1), MAX_LINE_CHARS):
            part = data[start : start + MAX_LINE_CHARS]
            if len(part) + 1 > self._left_bytes:
                # After the first line that does not fit, all are dropped: the beginning of the output is kept without gaps.
                self._left_bytes = 0
                self.cut_bytes += len(part) + 1
                continue
            self._left_bytes -= len(part) + 1
            self._ready.append(OutputLine(stream, part.decode(errors="replace")))
