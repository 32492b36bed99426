"""A resource that Ruby applies: its module's type and provider say what is, and what to do about it.

Reading runs code of the module, so a run that does not trust its catalog does not evaluate the resource. In no-op, the provider is
asked for the state of the resource and nothing else; what its code does then is up to its author.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from precast.resources.bridge import issues
from precast.resources.bridge.bridge import Bridge, RubyError, logs_in
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State


class BridgedHandler(Handler):
    """One resource behind the bridge."""

    # One process answers one question at a time.
    locks: ClassVar[tuple[str, ...]] = ("bridge",)

    def __init__(self, resource: DesiredResource, node: ManagedNode, bridge: Bridge) -> None:
        super().__init__(resource, node)
        if node.root:
            raise issues.UNDER_ROOT.error(type=resource.type, root=node.root)
        self._bridge = bridge
        self._checked: dict[str, Any] = {}

    @property
    def applied_by(self) -> str:
        installation = self._bridge.installation
        if installation is None:
            return ""
        return f"Puppet {installation.version}" + ("" if installation.is_tested else " (untested)")

    @property
    def secret_properties(self) -> frozenset[str]:
        """Also the properties that the type itself declares sensitive."""
        return super().secret_properties | frozenset(self._checked.get("sensitive", ()))

    @property
    def check_needs_trust(self) -> str:
        return "its check runs Ruby code of a module"

    @property
    def reacts_to_refresh(self) -> bool:
        return self._bridge.declared(self.resource.ref).refreshes

    def read(self) -> State:
        self._checked = self._ask("check")
        state: State = self._checked["state"]
        return state

    def compare(self, state: State) -> Sequence[Change]:
        return [_change(said) for said in self._checked["changes"]]

    def apply(self, change: Change) -> str | None:
        answer = self._ask("change", property=change.property)
        message: str | None = answer.get("message")
        return message

    def flush(self) -> None:
        self._ask("flush")

    def refresh(self) -> None:
        self._ask("refresh")

    def expand(self, state: State) -> Sequence[Handler]:
        if not self._bridge.declared(self.resource.ref).generates:
            return ()
        children = [_child(self.resource, said) for said in self._ask("generate")["children"]]
        # A resource that the catalog has is applied in its own turn.
        return [
            BridgedHandler(child, self.node, self._bridge)
            for child in children
            if child.ref not in self.node.names(child.type).values()
        ]

    def _ask(self, action: str, **details: Any) -> dict[str, Any]:
        """Ask Ruby and log what it logs. Raises as `Bridge.ask` does."""
        try:
            answer = self._bridge.ask(action, self.resource.ref, self.resource.get("timeout"), **details)
        except RubyError as error:
            self._log_all(error.logs)
            raise
        self._log_all(logs_in(answer))
        return answer

    def _log_all(self, lines: Sequence[tuple[str, str]]) -> None:
        for level, text in lines:
            self.log(_LEVELS.get(level, level), text)


# Puppet's levels that logs of resources do not have.
_LEVELS = {"alert": "err", "emerg": "err", "crit": "err"}


def _change(said: dict[str, Any]) -> Change:
    """A property that is not in sync. Its message is known when it has changed."""
    name = said["property"]
    if said["sensitive"]:
        return Change(name, None, None, "changed [redacted] to [redacted]", is_sensitive=True)
    before, after = said["previous_text"], said["desired_text"]
    text = f"{name} changed {before} to {after}"
    return Change(name, said["previous"], said["desired"], text, previous_text=before, desired_text=after)


def _child(parent: DesiredResource, said: dict[str, Any]) -> DesiredResource:
    meta = {name: value for name, value in parent.metaparameters.items() if name in ("noop", "loglevel", "schedule")}
    return DesiredResource(said["type"], said["title"], {}, parent.secrets, meta, parent.tags, parent.file, parent.line)
