"""notify: a message in the report. It is a change each time, and touches nothing."""

from collections.abc import Sequence
from typing import ClassVar

from precast.resources.contract import Change, Handler, State


class Notify(Handler):
    touches_node: ClassVar[bool] = False

    def read(self) -> State:
        return {"message": "absent"}

    def compare(self, state: State) -> Sequence[Change]:
        message = self.wanted.get("message", self.wanted.get("name", self.wanted.title))
        text = message if isinstance(message, str) else str(message)
        is_secret = "message" in self.wanted.secrets
        shown = "[redacted]" if is_secret else text
        return (Change("message", "absent", text, f"defined 'message' as '{shown}'", is_sensitive=is_secret),)

    def apply(self, change: Change) -> None:
        self.say("notice", "[redacted]" if change.is_sensitive else str(change.desired))
