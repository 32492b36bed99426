"""write_files: writes the user's files. Root's files are written first, other owners' files when their user exists.

A deferred file waits for users and packages. Appending first checks whether the file already ends with the content, because an
interrupted boot runs the module again.
"""

import base64
import binascii
import functools
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.boot import downloads
from precast.boot.modules import issues
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import ROOT_FILES_WRITTEN, Config, Module, ModulePart, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Binary, Fields, Flag, Items, Mode, Table, Text
from precast.boot.modules.users import format_user_place
from precast.boot.userdata import encodings
from precast.resources.files import owners

_COMPRESSED = ("gz", "gzip")
_BASE64 = ("b64", "base64")
_BOTH = tuple(f"{compressed}+{encoded}" for compressed in _COMPRESSED for encoded in _BASE64)
FILE = Fields(
    {
        "path": Text(),
        "content": Binary(),
        "encoding": Text((*_COMPRESSED, *_BASE64, *_BOTH, "text/plain")),
        "owner": Text(),
        "permissions": Mode(),
        "append": Flag(),
        "defer": Flag(),
        "source": Fields({"uri": Text(), "headers": Table(Text())}, required=("uri",)),
    },
    required=("path",),
)


def decode_content(file: Mapping[str, Any], content: bytes) -> bytes:
    """Decode a file's content. Raises InputError BOOT-204, and BOOT-301 if the decompressed content is too large."""
    encoding = file.get("encoding", "")
    if encoding.endswith(_BASE64):
        try:
            content = base64.b64decode(content)
        except binascii.Error as error:
            raise issues.BAD_CONTENT.error(path=file["path"], encoding=encoding, reason=error) from None
    if encoding.startswith(_COMPRESSED):
        if content[:2] != b"\x1f\x8b":
            raise issues.BAD_CONTENT.error(path=file["path"], encoding=encoding, reason="it is not compressed")
        content = encodings.gunzip(content, file["path"])
    return content


def write(files: Sequence[Mapping[str, Any]], context: ModuleContext) -> ModuleOutcome:
    """Write files; a failure of one does not affect the others. Raises UnavailableError BOOT-203 at the end."""
    failed: list[str] = []
    for file in files:
        try:
            _write(context, file)
        except (PrecastError, OSError) as error:
            failed.append(f"{file['path']}: {error}")
    if failed:
        raise issues.SOME_FAILED.error(what="write_files", failures="; ".join(failed))
    return context.outcome


def _write(context: ModuleContext, file: Mapping[str, Any]) -> None:
    path = posixpath.normpath(f"/{file['path'].lstrip('/')}")
    content = decode_content(file, _load_content(context, file))
    owner, _, group = file.get("owner", "root:root").partition(":")
    missing = _find_missing_owner(context, owner, group)
    if file.get("append"):
        found = context.read_content(path)
        present = b"" if found is None else found.data
        if not content or present.endswith(content):
            return
        if found is not None:
            reader = "root" if missing is not None else owner or "root"
            found.check_may_get(path, owners.current(context.machine).uid(reader))
        content = present + content
    mode = file.get("permissions", 0o644)
    if missing is None:
        context.write(path, content, mode, owner or "root", group)
        return
    # The file is written in any case: a program may need it before its owner exists.
    context.write(path, content, mode, "root", "root")
    raise missing


def _find_missing_owner(context: ModuleContext, owner: str, group: str) -> PrecastError | None:
    """Return the error that names the owner or the group that does not exist; None if both exist, or in a dry run."""
    known = owners.current(context.machine)
    try:
        # Root is not looked up: a root file system that is still being built may have no users yet.
        if owner not in ("", "root"):
            known.uid(owner)
        if group not in ("", "root"):
            known.gid(group)
    except PrecastError as error:
        return None if context.is_dry_run or not context.ownership_parameters("root") else error
    return None


def _load_content(context: ModuleContext, file: Mapping[str, Any]) -> bytes:
    source = file.get("source")
    if source is not None:
        try:
            return downloads.fetch(source["uri"], source.get("headers", {}))
        except (OSError, ValueError) as error:
            if "content" not in file:
                raise issues.NOT_FETCHED.error(url=source["uri"], reason=error) from None
            context.warn(f"{file['path']}: {source['uri']} cannot be fetched ({error}), so content is used")
    content = file.get("content", "")
    return content if isinstance(content, bytes) else str(content).encode(errors="surrogateescape")


def make_parts(config: Config) -> Sequence[ModulePart]:
    """Return one part for root's files, in their order, and one for each other owner, which waits for that user."""
    by_owner: dict[str, list[Mapping[str, Any]]] = {"root": []}
    for file in config.get("write_files", ()):
        if not file.get("defer"):
            by_owner.setdefault(file.get("owner", "root").partition(":")[0] or "root", []).append(file)
    return [
        ModulePart(
            f"files of {owner}",
            functools.partial(write, files),
            waits_for=() if owner == "root" else (format_user_place(owner), ROOT_FILES_WRITTEN),
            provides=(ROOT_FILES_WRITTEN,) if owner == "root" else (),
        )
        for owner, files in by_owner.items()
    ]


def write_deferred(context: ModuleContext) -> ModuleOutcome:
    return write([file for file in context.config["write_files"] if file.get("defer")], context)


def _has_deferred(config: Config) -> bool:
    return any(file.get("defer") for file in config.get("write_files", ()))


MODULES = (
    Module(
        "write_files",
        write_deferred,
        {"write_files": Items(FILE)},
        stage=Stage.NETWORK,
        after=(Predecessor("bootcmd", "bootcmd runs before every module that configures something"),),
        parts=make_parts,
    ),
    Module(
        "write_files_deferred",
        write_deferred,
        {"write_files": Items(FILE)},
        stage=Stage.FINAL,
        after=(
            Predecessor("users", "deferred files may belong to users that this boot creates"),
            Predecessor("packages", "deferred files may replace files of a package"),
        ),
        has_work=_has_deferred,
    ),
)
