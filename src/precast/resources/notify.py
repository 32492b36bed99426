"""notify: a message in the report. It is reported as a change in every run, and changes nothing on the node."""

from collections.abc import Sequence
from typing import ClassVar

from precast.resources.contract import Change, Handler, State


class Notify(Handler):
    touches_node: ClassVar[bool] = False

    def read(self) -> State:
        return {"message": "absent"}

    def compare(self, state: State) -> Sequence[Change]:
        message = self.resource.get("message", self.resource.get("name", self.resource.title))
        text = message if isinstance(message, str) else str(message)
        is_secret = bool(self.resource.secrets)
        shown = "[redacted]" if is_secret else text
        return (Change("message", "absent", text, f"defined 'message' as '{shown}'", is_sensitive=is_secret),)

    def apply(self, change: Change) -> None:
        self.log("notice", "[redacted]" if change.is_sensitive else str(change.desired))
