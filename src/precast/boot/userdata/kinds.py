"""Determines the kind of a part of user data, by its content type or by its first line."""

import enum


class PartKind(enum.Enum):
    CONFIG = "text/cloud-config"
    ARCHIVE = "text/cloud-config-archive"
    PATCH = "text/cloud-config-jsonp"
    SCRIPT = "text/x-shellscript"
    BOOTHOOK = "text/cloud-boothook"
    INCLUDE = "text/x-include-url"
    TEMPLATE = "text/jinja2"
    HANDLER = "text/part-handler"
    UPSTART = "text/upstart-job"
    BOOT_SCRIPT = "text/x-shellscript-per-boot"
    INSTANCE_SCRIPT = "text/x-shellscript-per-instance"
    ONCE_SCRIPT = "text/x-shellscript-per-once"


# Longer beginnings first: some are prefixes of others.
_BEGINNINGS = (
    (b"#cloud-config-archive", PartKind.ARCHIVE),
    (b"#cloud-config-jsonp", PartKind.PATCH),
    (b"## template: jinja", PartKind.TEMPLATE),
    (b"#cloud-boothook", PartKind.BOOTHOOK),
    (b"#part-handler", PartKind.HANDLER),
    (b"#cloud-config", PartKind.CONFIG),
    (b"#upstart-job", PartKind.UPSTART),
    (b"#include", PartKind.INCLUDE),
    (b"#!", PartKind.SCRIPT),
)
_TYPES = {kind.value: kind for kind in PartKind} | {"text/x-include-once-url": PartKind.INCLUDE}
# Types that are unspecific or often wrong: for these the beginning decides.
_VAGUE = ("text/plain", "text/x-not-multipart", "text/x-shellscript", "application/octet-stream", "")
COMPRESSED = frozenset(
    f"application/{name}"
    for name in (
        "gzip", "gzip-compressed", "gzipped", "x-compress", "x-compressed", "x-gunzip", "x-gzip", "x-gzip-compressed",
    )
)  # fmt: skip


def find_kind_by_beginning(data: bytes) -> PartKind | None:
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return next((kind for text, kind in _BEGINNINGS if start.startswith(text)), None)


def find_kind(content_type: str, data: bytes) -> PartKind | None:
    """Return the kind of a part; None if it is unknown. A specific content type takes precedence over the beginning."""
    kind = find_kind_by_beginning(data)
    return kind if content_type in _VAGUE else _TYPES.get(content_type, kind)
