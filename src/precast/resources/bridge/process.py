"""The Ruby process of the bridge: asks it one question at a time over pipes, and kills it with its process group if it does not answer.

Parameters, which may be secret, travel only through the pipes. The process inherits nothing else: a small environment, no open files, no
input; what providers print goes to /dev/null, because nothing reads it and daemons that they start live on.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from precast.base.programs import SEARCH_PATH, signal_group

PROGRAM: Final = Path(__file__).with_name("bridge.rb")
# Puppet runs in a UTF-8 locale; commands of providers are run in the locale C by Puppet itself.
_ENVIRONMENT: Final[Mapping[str, str]] = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HOME": "/root"}
# How long it may take to load Puppet, on a busy machine too.
START_S: Final = 60.0
MAX_ANSWER_BYTES: Final = 32 << 20
_MAX_ERROR_BYTES: Final = 4_000
_READ_BYTES: Final = 64 * 1024
_REAP_S: Final = 5.0


class Ended(Exception):
    """The process has ended before it answered; the text says how."""


class TooLarge(Exception):
    """An answer, or a question, exceeds the limit; the text is its size in bytes."""


class BridgeProcess:
    """A Ruby process that has loaded Puppet. It must be closed. Raises OSError if it cannot be started."""

    def __init__(self, ruby: str, library: str) -> None:
        question, self._questions = os.pipe()
        self._answers, answer = os.pipe()
        try:
            self._process = _spawn([ruby, "-I", library, str(PROGRAM)], question, answer)
        except BaseException:
            os.close(self._questions)
            os.close(self._answers)
            raise
        finally:
            os.close(question)
            os.close(answer)
        os.set_blocking(self._questions, False)
        os.set_blocking(self._answers, False)
        self._errors = bytearray()
        self._rest = bytearray()

    def ask(self, question: Mapping[str, Any], deadline_s: float) -> dict[str, Any]:
        """Ask, and wait for the answer. After an error the process must be closed.

        Raises TimeoutError past the deadline, Ended if the process has ended, TooLarge for an answer that exceeds the limit.
        """
        data = memoryview(json.dumps(question).encode() + b"\n")
        if len(data) > MAX_ANSWER_BYTES:
            raise TooLarge(str(len(data)))
        until_s = time.monotonic() + deadline_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._questions, selectors.EVENT_WRITE)
            selector.register(self._answers, selectors.EVENT_READ)
            if self._process.stderr is not None:
                selector.register(self._process.stderr, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                data = self._serve(selector, data, until_s)
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            raise Ended("its answer is not JSON") from None
        if not isinstance(answer, dict):
            raise Ended("its answer is not an object")
        return answer

    def _serve(self, selector: selectors.BaseSelector, data: memoryview, until_s: float) -> memoryview:
        """Write what fits and read what has come. Returns what is still to be written."""
        left_s = until_s - time.monotonic()
        ready = selector.select(max(0.0, left_s)) if left_s > 0 else []
        if not ready:
            raise TimeoutError
        for key, _ in ready:
            if key.fd == self._questions:
                data = self._write(selector, data)
            elif key.fd == self._answers:
                self._read_answer()
            elif not self._read_errors(key.fd):
                selector.unregister(key.fileobj)
        return data

    def _write(self, selector: selectors.BaseSelector, data: memoryview) -> memoryview:
        try:
            data = data[os.write(self._questions, data[:_READ_BYTES]) :]
        except BrokenPipeError:  # it has ended: the end of its answers says so
            data = data[:0]
        if not data:
            selector.unregister(self._questions)
        return data

    def _read_answer(self) -> None:
        piece = os.read(self._answers, _READ_BYTES)
        if not piece:
            raise Ended(self._describe_end())
        self._rest += piece
        if len(self._rest) > MAX_ANSWER_BYTES:
            raise TooLarge(str(len(self._rest)))

    def _read_errors(self, handle: int) -> bool:
        piece = os.read(handle, _READ_BYTES)
        self._errors += piece
        del self._errors[:-_MAX_ERROR_BYTES]
        return bool(piece)

    def _describe_end(self) -> str:
        """How the process ended, with the first line of what it has printed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_S)
        if self._process.stderr is not None:
            with contextlib.suppress(BlockingIOError):
                while self._read_errors(self._process.stderr.fileno()):
                    pass
        code = self._process.returncode
        if code is None:
            return "it closed its pipe"
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        lines = self._errors.decode(errors="replace").strip().splitlines()
        return f"{how}: {lines[0]}" if lines else how

    def forget_errors(self) -> None:
        """Stop reading what the process prints, once it prints to /dev/null."""
        if self._process.stderr is not None:
            self._process.stderr.close()
            self._process.stderr = None
        self._errors.clear()

    def close(self, *, wait_s: float = 0.0) -> None:
        """End the process: it gets the end of its input and `wait_s` seconds, and is killed with its group then."""
        os.close(self._questions)
        is_ended = False
        if wait_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(wait_s)
                is_ended = True
        if not is_ended:  # it was not waited for, so no other group has its number
            signal_group(self._process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_REAP_S)
        os.close(self._answers)
        self.forget_errors()


def _spawn(argv: list[str], question: int, answer: int) -> "subprocess.Popen[bytes]":
    """Start the program in a session and a process group of its own. Its last arguments are the descriptors of its pipes."""
    process = subprocess.Popen(
        [*argv, str(question), str(answer)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=dict(_ENVIRONMENT),
        cwd="/",
        pass_fds=(question, answer),
        start_new_session=True,
        bufsize=0,
    )
    if process.stderr is not None:
        os.set_blocking(process.stderr.fileno(), False)
    return process
