"""What user data is made of once it has been unpacked."""

import enum
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from precast.boot.modules.shapes import Finding


class ScriptKind(enum.Enum):
    """When a script of the user data runs: a boothook as early as possible at every boot, all others at the end."""

    BOOTHOOK = "boothook"
    SCRIPT = "script"  # once for an instance
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
    """One configuration, the scripts in their order, and what was found wrong (places are those of the parts)."""

    config: dict[str, Any] = field(default_factory=dict)
    scripts: list[Script] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
