"""write_files: files as the user wants them. Those of root first; those of another owner once that user is there.

A deferred file waits for users and packages. Appending looks whether the end is already there: a boot that was cut off is done again.
"""

import base64
import binascii
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.boot import downloads
from precast.boot.modules import issues
from precast.boot.modules.context import Context
from precast.boot.modules.contract import FILES_OF_ROOT, After, Config, Module, Part, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Binary, Fields, Flag, Items, Mode, Table, Text
from precast.boot.modules.users import exists
from precast.boot.userdata import encodings

_PACKED = ("gz", "gzip")
_CODED = ("b64", "base64")
_BOTH = tuple(f"{packed}+{coded}" for packed in _PACKED for coded in _CODED)
FILE = Fields(
    {
        "path": Text(),
        "content": Binary(),
        "encoding": Text((*_PACKED, *_CODED, *_BOTH, "text/plain")),
        "owner": Text(),
        "permissions": Mode(),
        "append": Flag(),
        "defer": Flag(),
        "source": Fields({"uri": Text(), "headers": Table(Text())}, required=("uri",)),
    },
    required=("path",),
)


def decoded(file: Mapping[str, Any], content: bytes) -> bytes:
    """Content without its encoding. Raises InputError BOOT-204, and BOOT-301 for what unpacks to too much."""
    encoding = file.get("encoding", "")
    if encoding.endswith(_CODED):
        try:
            content = base64.b64decode(content)
        except binascii.Error as error:
            raise issues.BAD_CONTENT.error(path=file["path"], encoding=encoding, reason=error) from None
    if encoding.startswith(_PACKED):
        if content[:2] != b"\x1f\x8b":
            raise issues.BAD_CONTENT.error(path=file["path"], encoding=encoding, reason="it is not compressed")
        content = encodings.gunzip(content, file["path"])
    return content


def write(files: Sequence[Mapping[str, Any]], context: Context) -> Outcome:
    """Write some files; what is wrong with one does not cost the others. Raises UnavailableError BOOT-203 at the end."""
    failed: list[str] = []
    for file in files:
        try:
            _write(context, file)
        except (PrecastError, OSError) as error:
            failed.append(f"{file['path']}: {error}")
    if failed:
        raise issues.SOME_FAILED.error(what="write_files", failures="; ".join(failed))
    return context.outcome


def _write(context: Context, file: Mapping[str, Any]) -> None:
    path = file["path"] if file["path"].startswith("/") else f"/{file['path']}"
    content = decoded(file, _content(context, file))
    owner, _, group = file.get("owner", "root:root").partition(":")
    if file.get("append"):
        present = context.read(path) or b""
        if not content or present.endswith(content):
            return
        content = present + content
    context.write(path, content, file.get("permissions", 0o644), owner or "root", group)


def _content(context: Context, file: Mapping[str, Any]) -> bytes:
    source = file.get("source")
    if source is not None:
        try:
            return downloads.fetch(source["uri"], source.get("headers", {}))
        except (OSError, ValueError) as error:
            if "content" not in file:
                raise issues.NOT_FETCHED.error(url=source["uri"], reason=error) from None
            context.warn(f"{file['path']}: {source['uri']} cannot be fetched ({error}), so content is used")
    given = file.get("content", "")
    return given if isinstance(given, bytes) else str(given).encode(errors="surrogateescape")


def parts(config: Config) -> Sequence[Part]:
    """The files of root together, in their order; those of each other owner when that user is there."""
    by_owner: dict[str, list[Mapping[str, Any]]] = {"root": []}
    for file in config.get("write_files", ()):
        if not file.get("defer"):
            by_owner.setdefault(file.get("owner", "root").partition(":")[0] or "root", []).append(file)
    return [
        Part(
            f"files of {owner}",
            functools.partial(write, files),
            waits=() if owner == "root" else (exists(owner), FILES_OF_ROOT),
            gives=(FILES_OF_ROOT,) if owner == "root" else (),
        )
        for owner, files in by_owner.items()
    ]


def write_deferred(context: Context) -> Outcome:
    return write([file for file in context.config["write_files"] if file.get("defer")], context)


def _has_deferred(config: Config) -> bool:
    return any(file.get("defer") for file in config.get("write_files", ()))


MODULES = (
    Module(
        "write_files",
        write_deferred,
        {"write_files": Items(FILE)},
        stage=Stage.NETWORK,
        after=(After("bootcmd", "bootcmd comes before everything that configures"),),
        parts=parts,
    ),
    Module(
        "write_files_deferred",
        write_deferred,
        {"write_files": Items(FILE)},
        stage=Stage.FINAL,
        after=(
            After("users", "deferred files may belong to users that this boot makes"),
            After("packages", "deferred files may replace what a package brings"),
        ),
        is_wanted=_has_deferred,
    ),
)
