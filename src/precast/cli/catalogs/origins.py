"""Describes where a failed resource was declared and which version and release brought it, in a few lines below the failure."""

from precast.base.errors import PrecastError
from precast.base.spans import visible
from precast.cli.console.client import Client, segment
from precast.cli.console.output import format_time
from precast.wire.catalogs.origins import OriginView
from precast.wire.code.environments import VersionRow

# Origins are requested for at most this many failures of a report, because readers look at the first ones.
MAX_ORIGINS = 10


def find_origin(client: Client, node: str, resource: str, catalog: str) -> OriginView | None:
    """The origin of a resource; None if the server does not know it, so that the report is shown without it."""
    query = {"resource": resource, "catalog": catalog}
    try:
        return client.ask("GET", f"/v1/nodes/{segment(node)}/origin", OriginView, query=query)
    except PrecastError:
        return None


def origin_lines(origin: OriginView) -> list[str]:
    """The origin as lines for people."""
    lines = []
    if origin.file is not None:
        text = f"  {visible(origin.text)}" if origin.text else ""
        lines.append(f"declared at {visible(origin.file)}:{origin.line}{text}")
    if origin.changed is not None:
        since = "there since at least" if origin.is_file_older else "last changed in"
        lines.append(f"{since} {_version(origin.environment, origin.changed)}")
    release = origin.brought
    since = "there since at least" if origin.is_older else "there since"
    code = f" of {_version(origin.environment, release.version)}" if release.version is not None else ""
    when = f"{format_time(release.released_at)} by {visible(release.released_by)}"
    lines.append(f"{since} release {release.number}, {when}{code}")
    return lines


def _version(environment: str, version: VersionRow) -> str:
    commit = f", commit {visible(version.commit_id[:12])}" if version.commit_id else ""
    source = f" ({visible(version.source)})" if version.source and not commit else ""
    return f"{environment} version {version.number}{commit}{source}, deployed by {visible(version.deployed_by)}"
