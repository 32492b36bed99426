"""A machine whose programs answer as they were seen or documented to: for init systems and package managers that are not here."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.resources.contract import Completed

Answer = Callable[["RecordedMachine"], tuple[int, str]] | tuple[int, str]


class RecordedMachine(Machine):
    """Commands are looked up as one text; what is not known succeeds and says nothing. All that were run are kept."""

    def __init__(self, root: Path, answers: Mapping[str, Answer]) -> None:
        super().__init__(str(root), str(root / "state"), ManualClock(), is_chroot=True)
        self.answers = answers
        self.ran: list[str] = []

    def run(self, argv: Sequence[str], **options: Any) -> Completed:
        command = " ".join(argv)
        self.ran.append(command)
        answer = self.answers.get(command, (0, ""))
        code, output = answer(self) if callable(answer) else answer
        return Completed(code, output)

    def programs(self, *names: str) -> None:
        """Have programs of these names, so that they are found."""
        for name in names:
            place = Path(self.path(f"/usr/bin/{name}"))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
