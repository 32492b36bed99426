"""Where the agent keeps its files: one directory below the root, for its credentials, its local store and its caches."""

from pathlib import Path

STATE = Path("var/lib/precast/agent")
