"""Where the agent keeps its own: one directory below the root, for what it is, what it has said and what it remembers."""

from pathlib import Path

STATE = Path("var/lib/precast/agent")
