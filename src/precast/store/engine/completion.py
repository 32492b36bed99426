"""The object through which a writer learns the outcome of its write."""

from typing import Protocol, TypeVar

Result = TypeVar("Result", contravariant=True)


class Completion(Protocol[Result]):
    """Receives the outcome of a write, once. An asyncio.Future is one; an object that needs no turn of the event loop is cheaper.

    The methods raise nothing.
    """

    def done(self) -> bool:
        """Whether nothing waits for the outcome any longer, so that the write can be dropped."""

    def set_result(self, value: Result, /) -> None: ...

    def set_exception(self, error: BaseException, /) -> None: ...
