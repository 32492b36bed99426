"""How whoever hands in a write learns what became of it."""

from typing import Protocol, TypeVar

Told = TypeVar("Told", contravariant=True)


class Promise(Protocol[Told]):
    """Whoever waits for a write: a future, or something that needs no turn of the event loop to be told. It is told once, and raises
    nothing."""

    def done(self) -> bool:
        """Whether nobody waits any longer."""

    def set_result(self, value: Told, /) -> None: ...

    def set_exception(self, error: BaseException, /) -> None: ...
