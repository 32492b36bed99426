"""Where a failed resource comes from, in a few lines below its failure."""

from precast.base.errors import PrecastError
from precast.base.spans import visible
from precast.cli.console.client import Client, segment
from precast.cli.console.output import format_time
from precast.wire.catalogs.origins import OriginView
from precast.wire.code.environments import VersionRow

# Of one report, so many are traced: the first failures are what one looks at.
MOST = 10


def trace(client: Client, node: str, resource: str, catalog: str) -> OriginView | None:
    """None if it cannot be told: a report is shown all the same."""
    query = {"resource": resource, "catalog": catalog}
    try:
        return client.ask("GET", f"/v1/nodes/{segment(node)}/origin", OriginView, query=query)
    except PrecastError:
        return None


def origin_lines(found: OriginView) -> list[str]:
    """What people read."""
    lines = []
    if found.file is not None:
        text = f"  {visible(found.text)}" if found.text else ""
        lines.append(f"declared at {visible(found.file)}:{found.line}{text}")
    if found.changed is not None:
        since = "there since" if found.is_file_older else "last changed in"
        lines.append(f"{since} {_version(found.environment, found.changed)}")
    brought = found.brought
    since = "there since" if found.is_older else "so since"
    code = f" of {_version(found.environment, brought.version)}" if brought.version is not None else ""
    when = f"{format_time(brought.released_at)} by {visible(brought.released_by)}"
    lines.append(f"{since} release {brought.number}, {when}{code}")
    return lines


def _version(environment: str, version: VersionRow) -> str:
    commit = f", commit {visible(version.commit_id[:12])}" if version.commit_id else ""
    source = f" ({visible(version.source)})" if version.source and not commit else ""
    return f"{environment} version {version.number}{commit}{source}, deployed by {visible(version.deployed_by)}"
