"""The policy that this node keeps: read here, decided by here. Checking who signed it is `policy_check`'s, in a short-lived process.

The file is only root's, as the key beside it is. It is checked when it comes and again by every run that would change something: a node
whose authority has changed, or whose policy has ended, only looks.
"""

from pathlib import Path

import msgspec

from precast.agent.state.places import STATE
from precast.wire.nodes.policy import Policy, SignedPolicy

NAME = "policy.json"


def place(root: Path) -> Path:
    return root / STATE / NAME


def read(root: Path) -> tuple[SignedPolicy, Policy] | None:
    """What is kept, as it came and what it says; None if there is none, or it cannot be read."""
    try:
        signed = msgspec.json.decode(place(root).read_bytes(), type=SignedPolicy)
        return signed, msgspec.json.decode(signed.policy, type=Policy)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
