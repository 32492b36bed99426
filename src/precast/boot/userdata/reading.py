"""From the bytes of a data source to one configuration and the scripts that came with it.

Parts are taken in their order; a part that is wrong is found and left out, and the others still count. Whatever a part includes or
packs is a part in its place. All of it together is bounded: bytes, parts, and how deep one includes another.
"""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from precast.base import files
from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.boot.modules.shapes import Finding, kind_of
from precast.boot.userdata import issues, merging, packing, patches, yaml_text
from precast.boot.userdata.documents import Script, ScriptKind, UserData
from precast.boot.userdata.kinds import PartKind, by_beginning
from precast.boot.userdata.kinds import kind_of as part_kind_of
from precast.boot.userdata.packing import Piece

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


class Circumstances(NamedTuple):
    """What reading depends on besides the data: how to fetch, values for templates, and which of several machines this is."""

    fetch: Fetch
    variables: Mapping[str, Any] = {}
    launch_index: int | None = None
    once_directory: Path | None = None  # where `#include-once` keeps what it got; root-only
    is_vendor: bool = False


def read(data: bytes, circumstances: Circumstances, name: str = "user-data") -> UserData:
    """Everything that user data says. What is wrong is in its findings; it never raises for what somebody wrote."""
    reader = _Reader(circumstances, name)
    reader.take(data, name, 0)
    return reader.found


def combine(user: UserData, vendor: UserData, base: Mapping[str, Any]) -> UserData:
    """One of all: the user's word wins over the vendor's, and both over the image's. A user may do without the vendor's."""
    wish = user.config.get("vendor_data", base.get("vendor_data"))
    is_enabled = not isinstance(wish, dict) or str(wish.get("enabled", True)).lower() not in ("false", "no", "off", "0")
    config: dict[str, Any] = dict(user.config)
    for under in (vendor.config, base) if is_enabled else (base,):
        config = merging.fill(config, under)
    if not is_enabled:
        return UserData(config, user.scripts, user.findings)
    return UserData(config, [*vendor.scripts, *user.scripts], [*vendor.findings, *user.findings])


class _Reader:
    def __init__(self, circumstances: Circumstances, name: str) -> None:
        self._of = circumstances
        self._name = name
        self._parts = 0
        self._bytes = 0
        self.found = UserData()

    def take(self, data: bytes, name: str, depth: int) -> None:
        """Read all parts of some data; what is wrong with one of them is kept."""
        try:
            for piece in packing.unpack(data, name):
                self._piece(piece, depth)
        except PrecastError as error:
            self._keep(name, error)

    def _piece(self, piece: Piece, depth: int) -> None:
        if not piece.content.strip():
            return
        self._count(piece, depth)
        if not self._is_for_us(piece.headers.get("launch-index")):
            return
        try:
            self._part(piece, part_kind_of(piece.content_type, piece.content), depth)
        except PrecastError as error:
            self._keep(piece.name, error)

    def _count(self, piece: Piece, depth: int) -> None:
        self._parts += 1
        self._bytes += len(piece.content)
        if self._parts > MAX_PARTS:
            raise issues.TOO_MUCH.error(what="the number of parts", limit=MAX_PARTS)
        if self._bytes > packing.MAX_BYTES:
            raise issues.TOO_MUCH.error(what="user data as a whole", limit=f"{packing.MAX_BYTES} bytes")
        if depth > MAX_DEPTH:
            raise issues.TOO_MUCH.error(what="what includes one another", limit=f"{MAX_DEPTH} levels")

    def _part(self, piece: Piece, kind: PartKind | None, depth: int) -> None:
        if kind is None:
            raise issues.NO_KIND.error(part=piece.name)
        if kind in _NOT_RUN:
            raise issues.NOT_RUN.error(part=piece.name, kind=kind.value, hint=_NOT_RUN[kind])
        if kind in _SCRIPTS:
            self._script(piece, _SCRIPTS[kind])
        elif kind is PartKind.TEMPLATE:
            self._template(piece, depth)
        elif kind is PartKind.INCLUDE:
            self._include(piece, depth)
        elif kind is PartKind.ARCHIVE:
            self._archive(piece, depth)
        elif kind is PartKind.PATCH:
            text = _text(piece).strip().removeprefix("#cloud-config-jsonp")
            self.found.config = patches.apply(self.found.config, text)
        else:
            self._config(piece)

    def _config(self, piece: Piece) -> None:
        source = Source(piece.name, _text(piece))
        loaded = yaml_text.load(source)
        if loaded.value is None:
            return
        if not isinstance(loaded.value, dict):
            kind = kind_of(loaded.value)
            raise issues.NOT_A_MAPPING.error(what=piece.name, wanted="a mapping", kind=kind)
        config: dict[Any, Any] = dict(loaded.value)
        if not self._is_for_us(config.pop("launch-index", None)):
            return
        # As cloud-init has it: merge_how before merge_type, and the header only fills what neither says.
        how = merging.parse(config.pop("merge_how", None) or config.pop("merge_type", None))
        config.pop("merge_type", None)
        header = merging.parse(piece.headers.get("merge-type") or piece.headers.get("x-merge-type"))
        self.found.config = merging.merge(self.found.config, config, how or header or merging.DEFAULT)
        self.found.findings += loaded.findings

    def _script(self, piece: Piece, kind: ScriptKind) -> None:
        content = piece.content
        if kind is ScriptKind.BOOTHOOK and by_beginning(content) is PartKind.BOOTHOOK:
            content = content.lstrip()[len(b"#cloud-boothook") :].lstrip(b"\r\n")
        taken = {script.name for script in self.found.scripts}
        # As cloud-init calls what has no name of its own; scripts run by their names.
        called = f"part-{self._parts:03}" if not piece.is_named else piece.name
        name = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in called).lstrip(".") or "part"
        number = 1
        unique = name
        while unique in taken:
            number += 1
            unique = f"{name}-{number}"
        self.found.scripts.append(Script(unique, content.replace(b"\r\n", b"\n"), kind, self._of.is_vendor))

    def _template(self, piece: Piece, depth: int) -> None:
        from precast.boot.userdata import templates  # most user data has none

        _, _, rest = _text(piece).lstrip("\ufeff").lstrip().partition("\n")
        rendered = templates.render(rest, self._of.variables)
        for name in rendered.missing:
            self.found.findings.append(
                Finding((), f"{piece.name}: there is no {name}", "what there is: precast boot explain", True)
            )
        content = rendered.text.encode()
        kind = part_kind_of("" if piece.content_type == PartKind.TEMPLATE.value else piece.content_type, content)
        if kind is PartKind.TEMPLATE:
            raise issues.TOO_MUCH.error(what="templates within one another", limit="1 level")
        self._part(piece._replace(content=content), kind, depth)

    def _archive(self, piece: Piece, depth: int) -> None:
        loaded = yaml_text.load(Source(piece.name, _text(piece)))
        if not isinstance(loaded.value, list):
            raise issues.NOT_A_MAPPING.error(what=piece.name, wanted="a list of parts", kind=kind_of(loaded.value))
        for at, each in enumerate(loaded.value, 1):
            self._piece(member(each, f"{piece.name}-{at:03}"), depth + 1)

    def _include(self, piece: Piece, depth: int) -> None:
        is_once = False
        for line in _text(piece).splitlines():
            word = line.strip()
            if word.lower().startswith("#include-once"):
                is_once, word = True, word[len("#include-once") :].strip()
            elif word.lower().startswith("#include"):
                is_once, word = False, word[len("#include") :].strip()
            if word and not word.startswith("#"):
                try:
                    self.take(self._get(word, is_once), word, depth + 1)
                except PrecastError as error:
                    self._keep(piece.name, error)

    def _get(self, url: str, is_once: bool) -> bytes:
        """What is at an address; from the first time, if it is to be got only once."""
        directory = self._of.once_directory if is_once else None
        kept = directory / hashlib.sha256(url.encode()).hexdigest() if directory else None
        if kept is not None and kept.exists():
            return kept.read_bytes()
        try:
            data = self._of.fetch(url)
        except (OSError, ValueError) as error:
            raise issues.NOT_INCLUDED.error(url=url, reason=error) from None
        if kept is not None:
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.write_private(kept, data)
        return data

    def _is_for_us(self, index: Any) -> bool:
        """Whether a part is meant for this machine, if it is meant for one of several."""
        if index is None or self._of.launch_index is None:
            return True
        try:
            return int(index) == self._of.launch_index
        except (TypeError, ValueError):
            return True

    def _keep(self, name: str, error: PrecastError) -> None:
        place = ""
        if error.source is not None and error.span is not None:
            at = error.source.position(error.span.start)
            place = f" line {at.line}, column {at.column}"
        self.found.findings.append(Finding((), f"{name}{place}: {error.message}", error.hint))


def member(given: Any, name: str) -> Piece:
    """One entry of an archive: a text, or a mapping with its content."""
    if not isinstance(given, dict):
        content = given if isinstance(given, str | bytes) else ""
        return Piece("", name, content.encode() if isinstance(content, str) else content)
    content = given.get("content", "")
    data = content if isinstance(content, bytes) else str(content).encode()
    headers = {str(key).lower(): str(value) for key, value in given.items() if key != "content"}
    kind = str(given.get("type") or "")
    if not kind and by_beginning(data) is None:
        kind = PartKind.CONFIG.value
    own = given.get("filename")
    return Piece(kind, str(own or name), data, headers, bool(own))


def _text(piece: Piece) -> str:
    try:
        return piece.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise issues.BAD_PACKING.error(what=piece.name, reason=f"it is no UTF-8 ({error.reason})") from None
