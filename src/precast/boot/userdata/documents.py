"""The content of user data after all of its parts were read."""

import enum
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from precast.boot.modules.schema import Finding


class ScriptKind(enum.Enum):
    """When a script runs: a boothook as early as possible at every boot, all others at the end."""

    BOOTHOOK = "boothook"
    SCRIPT = "script"  # once per instance
    PER_INSTANCE = "per-instance"
    PER_BOOT = "per-boot"
    PER_ONCE = "per-once"


class Script(NamedTuple):
    name: str  # a plain file name, unique in its user data
    content: bytes
    kind: ScriptKind = ScriptKind.SCRIPT
    is_vendor: bool = False


@dataclass(slots=True)
class UserData:
    """The merged configuration, the scripts in order, and the problems, with positions in their parts."""

    config: dict[str, Any] = field(default_factory=dict)
    scripts: list[Script] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
