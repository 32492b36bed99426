"""What an init system is to the handler of services."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from precast.resources import issues_system
from precast.resources.contract import Completed, Node

RUNNING, STOPPED = "running", "stopped"
TRUE, FALSE, MASK = "true", "false", "mask"


class Condition(NamedTuple):
    """What an init system says of a service."""

    is_running: bool
    enable: str  # true, false or mask
    # Whether it can be enabled and disabled at all: a unit without an install section cannot.
    has_choice: bool = True


class InitSystem:
    """One init system. What changes something raises UnavailableError RESOURCE-150 if it fails."""

    name: ClassVar[str]
    can_enable: ClassVar[bool] = True
    can_mask: ClassVar[bool] = False
    # Whether asking for a service starts a program each time.
    is_slow: ClassVar[bool] = True

    def __init__(self, node: Node, paths: Sequence[str] = ()) -> None:
        self.node = node
        self.paths = paths

    def condition(self, name: str) -> Condition:
        raise NotImplementedError

    def conditions(self, names: Sequence[str]) -> Mapping[str, Condition]:
        """Of several at once, as they are now."""
        return {name: self.condition(name) for name in names}

    def enabled(self, name: str) -> str:
        """Only whether it starts at boot, for services whose status somebody else tells."""
        return self.condition(name).enable

    def has_choice(self, name: str) -> bool:
        """Whether it can be enabled and disabled at all."""
        return True

    def start(self, name: str) -> None:
        raise NotImplementedError

    def stop(self, name: str) -> None:
        raise NotImplementedError

    def restart(self, name: str) -> None:
        raise NotImplementedError

    def enable(self, name: str, value: str) -> None:
        raise NotImplementedError

    def names(self) -> Iterable[str]:
        """All services it knows."""
        raise NotImplementedError

    def do(self, argv: Sequence[str], deadline_s: float = 300.0) -> Completed:
        done = self.node.run(argv, deadline_s=deadline_s)
        if not done.is_success:
            text = " ".join(done.output.split())
            raise issues_system.COMMAND_FAILED.error(command=" ".join(argv), code=done.exit_code, output=text)
        return done
