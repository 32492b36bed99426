"""A machine whose programs give recorded or documented output, for init systems and package managers that this machine lacks."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.resources.contract import CommandResult

Answer = Callable[["RecordedMachine"], tuple[int, str]] | tuple[int, str]


class RecordedMachine(Machine):
    """Looks up the output of a command by its text; an unknown command succeeds without output. It records all commands that ran."""

    def __init__(self, root: Path, answers: Mapping[str, Answer]) -> None:
        super().__init__(str(root), str(root / "state"), ManualClock(), is_chroot=True)
        self.answers = answers
        self.ran: list[str] = []

    def run(self, argv: Sequence[str], **options: Any) -> CommandResult:
        command = " ".join(argv)
        self.ran.append(command)
        answer = self.answers.get(command, (0, ""))
        code, output = answer(self) if callable(answer) else answer
        return CommandResult(code, output)

    def programs(self, *names: str) -> None:
        """Create empty programs of these names, so that handlers find them."""
        for name in names:
            place = Path(self.path(f"/usr/bin/{name}"))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
