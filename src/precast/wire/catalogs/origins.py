"""Where a resource of a node's catalog comes from: its line, who last changed that, and which release brought it."""

from datetime import datetime

import msgspec

from precast.wire.code.environments import VersionRow


class BroughtBy(msgspec.Struct, frozen=True):
    """The release since which a node has a resource as it is, and the code it was made of."""

    number: int
    released_at: datetime
    released_by: str
    version: VersionRow | None  # None if that version is not kept any more


class OriginView(msgspec.Struct, frozen=True):
    """A resource of what is or was served to a node. What is not known any more is left out, never guessed."""

    node: str
    resource: str
    environment: str
    brought: BroughtBy
    is_older: bool  # the release is only the oldest that is kept: it may have been so before
    file: str | None = None
    line: int | None = None
    text: str | None = None  # that line
    changed: VersionRow | None = None  # the version in which the file last changed
    is_file_older: bool = False  # that version is only the oldest that is kept
