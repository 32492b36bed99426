"""Reads user data: from the bytes of a data source to one configuration and its scripts.

Parts are read in order; an invalid part becomes a finding and is left out, and the others are used. Included and archived parts take the
place of the part that contains them. The total is bounded: bytes, parts, and the depth of includes.
"""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from precast.base import files
from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.boot.modules.schema import Finding, describe_value
from precast.boot.userdata import encodings, issues, json_patch, merge, yaml_text
from precast.boot.userdata.documents import Script, ScriptKind, UserData
from precast.boot.userdata.encodings import UserDataPart
from precast.boot.userdata.kinds import PartKind, find_kind, find_kind_by_beginning

MAX_PARTS: Final = 500
MAX_DEPTH: Final = 8
_SCRIPTS: Final = {
    PartKind.SCRIPT: ScriptKind.SCRIPT,
    PartKind.BOOTHOOK: ScriptKind.BOOTHOOK,
    PartKind.BOOT_SCRIPT: ScriptKind.PER_BOOT,
    PartKind.INSTANCE_SCRIPT: ScriptKind.PER_INSTANCE,
    PartKind.ONCE_SCRIPT: ScriptKind.PER_ONCE,
}
_NOT_RUN: Final = {
    PartKind.HANDLER: "a part handler is Python code for the inside of cloud-init; make it a script (#!/usr/bin/python3)",
    PartKind.UPSTART: "there is no upstart; write a unit with write_files",
}

Fetch = Callable[[str], bytes]  # the content at an address; raises PrecastError or OSError


class ReaderContext(NamedTuple):
    """What reading depends on besides the data: how to fetch URLs, the variables of templates, and the launch index."""

    fetch: Fetch
    variables: Mapping[str, Any] = {}
    launch_index: int | None = None
    once_directory: Path | None = None  # where `#include-once` stores its content; root-only
    is_vendor: bool = False


def read(data: bytes, circumstances: ReaderContext, name: str = "user-data") -> UserData:
    """Read user data. Problems become findings; invalid input never raises."""
    reader = _Reader(circumstances, name)
    reader.read(data, name, 0)
    return reader.result


def combine(user: UserData, vendor: UserData, base: Mapping[str, Any]) -> UserData:
    """Combine all: user data overrides vendor data, and both override the image's configuration. User data may disable vendor data."""
    wish = user.config.get("vendor_data", base.get("vendor_data"))
    is_enabled = not isinstance(wish, dict) or str(wish.get("enabled", True)).lower() not in ("false", "no", "off", "0")
    config: dict[str, Any] = dict(user.config)
    for under in (vendor.config, base) if is_enabled else (base,):
        config = merge.fill(config, under)
    if not is_enabled:
        return UserData(config, user.scripts, user.findings)
    return UserData(config, [*vendor.scripts, *user.scripts], [*vendor.findings, *user.findings])


class _Reader:
    def __init__(self, circumstances: ReaderContext, name: str) -> None:
        self._context = circumstances
        self._name = name
        self._parts = 0
        self._bytes = 0
        self.result = UserData()

    def read(self, data: bytes, name: str, depth: int) -> None:
        """Read all parts of some data; problems become findings."""
        try:
            for part in encodings.extract_parts(data, name):
                self._read_part(part, depth)
        except PrecastError as error:
            self._add_finding(name, error)

    def _read_part(self, part: UserDataPart, depth: int) -> None:
        if not part.content.strip():
            return
        self._count(part, depth)
        if not self._is_for_us(part.headers.get("launch-index")):
            return
        try:
            self._dispatch_part(part, find_kind(part.content_type, part.content), depth)
        except PrecastError as error:
            self._add_finding(part.name, error)

    def _count(self, part: UserDataPart, depth: int) -> None:
        self._parts += 1
        self._bytes += len(part.content)
        if self._parts > MAX_PARTS:
            raise issues.TOO_MUCH.error(what="the number of parts", limit=MAX_PARTS)
        if self._bytes > encodings.MAX_BYTES:
            raise issues.TOO_MUCH.error(what="user data as a whole", limit=f"{encodings.MAX_BYTES} bytes")
        if depth > MAX_DEPTH:
            raise issues.TOO_MUCH.error(what="the depth of includes", limit=f"{MAX_DEPTH} levels")

    def _dispatch_part(self, part: UserDataPart, kind: PartKind | None, depth: int) -> None:
        if kind is None:
            raise issues.NO_KIND.error(part=part.name)
        if kind in _NOT_RUN:
            raise issues.NOT_RUN.error(part=part.name, kind=kind.value, hint=_NOT_RUN[kind])
        if kind in _SCRIPTS:
            self._read_script(part, _SCRIPTS[kind])
        elif kind is PartKind.TEMPLATE:
            self._read_template(part, depth)
        elif kind is PartKind.INCLUDE:
            self._read_include(part, depth)
        elif kind is PartKind.ARCHIVE:
            self._read_archive(part, depth)
        elif kind is PartKind.PATCH:
            text = _decode_text(part).strip().removeprefix("#cloud-config-jsonp")
            self.result.config = json_patch.apply_patch(self.result.config, text)
        else:
            self._read_config(part)

    def _read_config(self, part: UserDataPart) -> None:
        source = Source(part.name, _decode_text(part))
        loaded = yaml_text.load(source)
        if loaded.value is None:
            return
        if not isinstance(loaded.value, dict):
            kind = describe_value(loaded.value)
            raise issues.NOT_A_MAPPING.error(what=part.name, wanted="a mapping", kind=kind)
        config: dict[Any, Any] = dict(loaded.value)
        if not self._is_for_us(config.pop("launch-index", None)):
            return
        # Like cloud-init: merge_how before merge_type, and the header only if neither is given.
        how = merge.parse_rules(config.pop("merge_how", None) or config.pop("merge_type", None))
        config.pop("merge_type", None)
        header = merge.parse_rules(part.headers.get("merge-type") or part.headers.get("x-merge-type"))
        self.result.config = merge.merge(self.result.config, config, how or header or merge.DEFAULT)
        self.result.findings += loaded.findings

    def _read_script(self, part: UserDataPart, kind: ScriptKind) -> None:
        content = part.content
        if kind is ScriptKind.BOOTHOOK and find_kind_by_beginning(content) is PartKind.BOOTHOOK:
            content = content.lstrip()[len(b"#cloud-boothook") :].lstrip(b"\r\n")
        taken = {script.name for script in self.result.scripts}
        # cloud-init's name of an unnamed part; scripts run in the order of their names.
        called = f"part-{self._parts:03}" if not part.is_named else part.name
        name = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in called).lstrip(".") or "part"
        number = 1
        unique = name
        while unique in taken:
            number += 1
            unique = f"{name}-{number}"
        self.result.scripts.append(Script(unique, content.replace(b"\r\n", b"\n"), kind, self._context.is_vendor))

    def _read_template(self, part: UserDataPart, depth: int) -> None:
        from precast.boot.userdata import templates  # most user data has none

        _, _, rest = _decode_text(part).lstrip("\ufeff").lstrip().partition("\n")
        rendered = templates.render(rest, self._context.variables)
        for name in rendered.missing:
            self.result.findings.append(
                Finding(
                    (), f"{part.name}: there is no variable {name}", "precast boot explain shows the known values", True
                )
            )
        content = rendered.text.encode()
        kind = find_kind("" if part.content_type == PartKind.TEMPLATE.value else part.content_type, content)
        if kind is PartKind.TEMPLATE:
            raise issues.TOO_MUCH.error(what="templates within one another", limit="1 level")
        self._dispatch_part(part._replace(content=content), kind, depth)

    def _read_archive(self, part: UserDataPart, depth: int) -> None:
        loaded = yaml_text.load(Source(part.name, _decode_text(part)))
        if not isinstance(loaded.value, list):
            raise issues.NOT_A_MAPPING.error(
                what=part.name, wanted="a list of parts", kind=describe_value(loaded.value)
            )
        for at, each in enumerate(loaded.value, 1):
            self._read_part(read_archive_entry(each, f"{part.name}-{at:03}"), depth + 1)

    def _read_include(self, part: UserDataPart, depth: int) -> None:
        is_once = False
        for line in _decode_text(part).splitlines():
            word = line.strip()
            if word.lower().startswith("#include-once"):
                is_once, word = True, word[len("#include-once") :].strip()
            elif word.lower().startswith("#include"):
                is_once, word = False, word[len("#include") :].strip()
            if word and not word.startswith("#"):
                try:
                    self.read(self._fetch(word, is_once), word, depth + 1)
                except PrecastError as error:
                    self._add_finding(part.name, error)

    def _fetch(self, url: str, is_once: bool) -> bytes:
        """Return the content at a URL; with `is_once` the stored content of the first time."""
        directory = self._context.once_directory if is_once else None
        kept = directory / hashlib.sha256(url.encode()).hexdigest() if directory else None
        if kept is not None and kept.exists():
            return kept.read_bytes()
        try:
            data = self._context.fetch(url)
        except (OSError, ValueError) as error:
            raise issues.NOT_INCLUDED.error(url=url, reason=error) from None
        if kept is not None:
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.write_private(kept, data)
        return data

    def _is_for_us(self, index: Any) -> bool:
        """Whether a part's launch index, if it has one, is this machine's."""
        if index is None or self._context.launch_index is None:
            return True
        try:
            return int(index) == self._context.launch_index
        except (TypeError, ValueError):
            return True

    def _add_finding(self, name: str, error: PrecastError) -> None:
        place = ""
        if error.source is not None and error.span is not None:
            at = error.source.position(error.span.start)
            place = f" line {at.line}, column {at.column}"
        self.result.findings.append(Finding((), f"{name}{place}: {error.message}", error.hint))


def read_archive_entry(given: Any, name: str) -> UserDataPart:
    """Read an entry of an archive: a text, or a mapping with its content."""
    if not isinstance(given, dict):
        content = given if isinstance(given, str | bytes) else ""
        return UserDataPart("", name, content.encode() if isinstance(content, str) else content)
    content = given.get("content", "")
    data = content if isinstance(content, bytes) else str(content).encode()
    headers = {str(key).lower(): str(value) for key, value in given.items() if key != "content"}
    kind = str(given.get("type") or "")
    if not kind and find_kind_by_beginning(data) is None:
        kind = PartKind.CONFIG.value
    own = given.get("filename")
    return UserDataPart(kind, str(own or name), data, headers, bool(own))


def _decode_text(part: UserDataPart) -> str:
    try:
        return part.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise issues.BAD_PACKING.error(what=part.name, reason=f"it is not UTF-8 ({error.reason})") from None
