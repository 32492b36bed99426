"""The interface of init systems for the handler of services."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from precast.resources import issues_system
from precast.resources.contract import CommandResult, ManagedNode

RUNNING, STOPPED = "running", "stopped"
TRUE, FALSE, MASK = "true", "false", "mask"


class Condition(NamedTuple):
    """The state of a service as the init system reports it."""

    is_running: bool
    enable: str  # true, false or mask
    # Whether it can be enabled and disabled at all: a unit without an install section cannot.
    has_choice: bool = True


class InitSystem:
    """One init system. Methods that change something raise UnavailableError RESOURCE-150 if they fail."""

    name: ClassVar[str]
    can_enable: ClassVar[bool] = True
    can_mask: ClassVar[bool] = False
    # Whether reading the state of a service starts a program each time.
    is_slow: ClassVar[bool] = True

    def __init__(self, node: ManagedNode, paths: Sequence[str] = ()) -> None:
        self.node = node
        self.paths = paths

    def condition(self, name: str) -> Condition:
        raise NotImplementedError

    def conditions(self, names: Sequence[str]) -> Mapping[str, Condition]:
        """The current states of several services."""
        return {name: self.condition(name) for name in names}

    def enabled(self, name: str) -> str:
        """Whether a service starts at boot, for services whose status a command of the resource reports."""
        return self.condition(name).enable

    def has_choice(self, name: str) -> bool:
        """Whether a service can be enabled and disabled at all."""
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
        """The names of all services."""
        raise NotImplementedError

    def do(self, argv: Sequence[str], deadline_s: float = 300.0) -> CommandResult:
        result = self.node.run(argv, deadline_s=deadline_s)
        if not result.is_success:
            text = " ".join(result.output.split())
            raise issues_system.COMMAND_FAILED.error(command=" ".join(argv), code=result.exit_code, output=text)
        return result
