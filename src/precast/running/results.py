"""Types that both drivers share: what the work of a transition returns, and what a driver returns."""

import msgspec

from precast.net.model.declarations import Outcome

# The work of a transition returns its outcome, or None for success.
WorkOutcome = Outcome | None


class DriverResult(msgspec.Struct):
    """How a driver ended.

    `unfinished` are the transitions whose work was abandoned at the deadline. They still hold their tokens in the execution, so a snapshot
    taken now lists them as running, and the caller that resumes it decides whether to repeat their work. `errors` has the last exception
    that the work of each failed transition raised.
    """

    is_complete: bool = False
    is_late: bool = False
    unfinished: list[int] = msgspec.field(default_factory=list)
    errors: dict[int, BaseException] = msgspec.field(default_factory=dict)
