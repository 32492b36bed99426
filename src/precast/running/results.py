"""What both drivers share: what work returns, and what a run comes back with."""

import msgspec

from precast.net.model.declarations import Outcome

# What the work of a transition may return: its outcome, or nothing, which is a success.
Ended = Outcome | None


class Result(msgspec.Struct):
    """How a run ended.

    `unfinished` are the transitions whose work was given up at the deadline. They still hold their tokens in the execution, so a snapshot
    taken now lists them as running, and whoever resumes decides whether to do their work again. `errors` has what the work of a failed
    transition raised last.
    """

    is_complete: bool = False
    is_late: bool = False
    unfinished: list[int] = msgspec.field(default_factory=list)
    errors: dict[int, BaseException] = msgspec.field(default_factory=dict)
