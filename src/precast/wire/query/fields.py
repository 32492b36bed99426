"""The fields that targets and queries can use: of nodes, of resources in their catalogs, and of reports."""

import difflib

import msgspec

# Fields of the last run that a node has reported.
REPORT = (
    *("at", "age", "state", "mode", "reason", "failed", "changed", "pending", "skipped", "waiting", "corrective"),
    *("stale", "seconds"),
)
TRUSTED = ("certname", "hostname", "domain", "extensions")


class Vocabulary(msgspec.Struct, frozen=True):
    """The fields of nodes, resources or reports: plain ones, and those that are followed by a path."""

    what: str
    plain: tuple[str, ...]
    paths: tuple[str, ...]
    is_node: bool
    has_names: bool  # whether a word by itself is a node's name; otherwise it is a resource reference

    def knows(self, parts: list[str]) -> bool:
        first = parts[0]
        if len(parts) == 1:
            return first in self.plain
        if first == "trusted" and self.is_node:
            return parts[1] in TRUSTED and len(parts) == (3 if parts[1] == "extensions" else 2)
        if first == "report" and self.is_node:
            return parts[1] in REPORT and len(parts) == 2
        return first in self.paths

    def guess(self, text: str) -> str:
        """Return a suggestion for an unknown field, to be appended to a message."""
        trusted = (
            [*(f"trusted.{field}" for field in TRUSTED), *(f"report.{field}" for field in REPORT)]
            if self.is_node
            else []
        )
        near = difflib.get_close_matches(text, [*self.plain, *trusted, *self.paths], n=1)
        return f"; did you mean {near[0]}?" if near and near[0] != text else ""

    @property
    def known(self) -> str:
        trusted = ["trusted.extensions.NAME", "trusted.certname", "report.age", "report.failed"] if self.is_node else []
        names = [*self.plain, *trusted, *(f"{field}.{'PATH' if field == 'facts' else 'NAME'}" for field in self.paths)]
        return f"{', '.join(names[:-1])} or {names[-1]}"


NODES = Vocabulary(
    "a node", ("name", "role", "environment", "state", "outcome", "catalog"), ("facts",), is_node=True, has_names=True
)
RESOURCES = Vocabulary(
    "a resource", ("type", "title", "tag", "exported"), ("parameters",), is_node=False, has_names=False
)
REPORTS = Vocabulary(
    "a report",
    (
        *("node", "outcome", "age", "state", "mode", "reason", "order", "environment", "version", "catalog", "release"),
        *(
            "resources",
            "failed",
            "changed",
            "pending",
            "skipped",
            "waiting",
            "corrective",
            "stale",
            "complete",
            "seconds",
        ),
        "id",
    ),
    (),
    is_node=False,
    has_names=True,
)
# Columns that answers can show besides the fields that conditions can use.
NODE_COLUMNS = msgspec.structs.replace(
    NODES, plain=(*NODES.plain, "seen_at", "facts_at", "created_at", "certified_until", "released_at")
)
REPORT_COLUMNS = msgspec.structs.replace(REPORTS, plain=(*REPORTS.plain, "at", "ended_at", "why", "lost"))
RESOURCE_COLUMNS = msgspec.structs.replace(RESOURCES, plain=("node", "environment", *RESOURCES.plain, "parameters"))
