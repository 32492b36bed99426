"""The cached policy of this node. `policy_check` checks its signature, in a short-lived process.

Only root can read and write the file, like the key beside it. The policy is checked when it is received and again by every run that
would enforce: on a node whose authority has changed, or whose policy has expired, runs are no-op.
"""

from pathlib import Path

import msgspec

from precast.agent.state.paths import POLICY, STATE
from precast.wire.nodes.policy import Policy, SignedPolicy


def policy_path(root: Path) -> Path:
    return root / STATE / POLICY


def read_policy(root: Path) -> tuple[SignedPolicy, Policy] | None:
    """Read the cached policy, signed and decoded; None if there is none, or if it cannot be read."""
    try:
        signed = msgspec.json.decode(policy_path(root).read_bytes(), type=SignedPolicy)
        return signed, msgspec.json.decode(signed.policy, type=Policy)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
