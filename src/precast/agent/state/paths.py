"""Where the agent keeps its files: one directory below the root, for its credentials, its local store and its caches."""

from pathlib import Path

from precast.base import files

STATE = Path("var/lib/precast/agent")
# What was fetched from a server. It belongs to one life of the node (`life`).
CATALOG = "catalog.json"
POLICY = "policy.json"
RELEASE = "release.json"
NEXT_RELEASE = "next-release.json"
SECRETS = "secrets.json"
NEXT_SECRETS = "next-secrets.json"
CONTENT = "content"
ENTRIES = "entries"
TASK_CONTENT = "task-content"
CACHED = (POLICY, NEXT_RELEASE, RELEASE, CATALOG, SECRETS, NEXT_SECRETS, CONTENT, ENTRIES, TASK_CONTENT)
PLUGINS = Path("var/lib/precast/plugins")


def make_state_directory(root: Path) -> Path:
    """Create the directory, which only its owner may enter (0700), or correct its mode. Raises OSError.

    Every process that may be the first to write there calls this, because the mode must not depend on which one comes first.
    """
    directory = root / STATE
    files.make_private_directory(directory)
    return directory
