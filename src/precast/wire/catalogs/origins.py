"""The origin of a resource of a node's catalog: its line of code, the version that last changed it, and the release that introduced it."""

from datetime import datetime

import msgspec

from precast.wire.code.environments import VersionRow


class IntroducedBy(msgspec.Struct, frozen=True):
    """The release since which a node has a resource in its present form, and the code version it was compiled from."""

    number: int
    released_at: datetime
    released_by: str
    version: VersionRow | None  # None if that version is no longer retained


class OriginView(msgspec.Struct, frozen=True):
    """The origin of a resource that is or was served to a node. Parts that are no longer known are absent, never guessed."""

    node: str
    resource: str
    environment: str
    brought: IntroducedBy
    is_older: bool  # the release is only the oldest that is retained: an earlier one may have introduced it
    file: str | None = None
    line: int | None = None
    text: str | None = None  # of that line
    changed: VersionRow | None = None  # the version in which the file last changed
    is_file_older: bool = False  # that version is only the oldest that is retained
