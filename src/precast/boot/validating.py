"""Looks through user data or a network configuration before a machine is booted with it: what is wrong, with its line and column.

It is what a boot itself would find, by the same declarations; nothing is run and nothing is fetched.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.boot import issues
from precast.boot.modules import registry
from precast.boot.modules.shapes import Finding, Path, kind_of
from precast.boot.network.readers import reading as network
from precast.boot.userdata import issues as userdata_issues
from precast.boot.userdata import merging, packing, yaml_text
from precast.boot.userdata.kinds import PartKind, by_beginning
from precast.boot.userdata.kinds import kind_of as part_kind_of

_NETWORK = re.compile(r"^(network:|version:\s*[12]\s*$)", re.MULTILINE)
_MAX_DEPTH = 4


class Problem(NamedTuple):
    """Something that is wrong, with its place where that is known. A warning is no reason to fail."""

    error: PrecastError
    is_warning: bool = False


def look(name: str, data: bytes) -> list[Problem]:
    """Everything that is wrong with a file, in the order of its places."""
    found: list[Problem] = []
    try:
        for piece in packing.unpack(data, name):
            found += _part(piece, name if piece.name == name else f"{name} ({piece.name})", 0)
    except PrecastError as error:
        found.append(Problem(error))
    return sorted(found, key=lambda each: each.error.span.start if each.error.span else -1)


def _part(piece: packing.Piece, name: str, depth: int) -> Iterator[Problem]:
    kind = part_kind_of(piece.content_type, piece.content)
    try:
        text = piece.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Problem(userdata_issues.BAD_PACKING.error(what=name, reason=f"it is no UTF-8 ({error.reason})"))
        return
    source = Source(name, text)
    try:
        if kind is PartKind.CONFIG:
            yield from _config(source)
        elif kind is PartKind.TEMPLATE:
            yield from _template(piece, source, depth)
        elif kind is PartKind.ARCHIVE:
            yield from _archive(source, depth)
        elif kind in (PartKind.HANDLER, PartKind.UPSTART):
            hint = "make it a script that begins with #!"
            yield Problem(userdata_issues.NOT_RUN.error(source, part=name, kind=kind.value, hint=hint), True)
        elif kind is None:
            yield from _unmarked(source)
    except PrecastError as error:
        yield Problem(error)


def _unmarked(source: Source) -> Iterator[Problem]:
    """No known beginning: a network configuration, or a cloud-config that lacks its first line."""
    if _NETWORK.search(source.text):
        read = network.read_text(source.path, source.text)
        yield from (Problem(warning, True) for warning in read.warnings)
        return
    loaded = yaml_text.load(source)
    if isinstance(loaded.value, dict) and any(key in registry.shapes() for key in loaded.value):
        yield Problem(issues.NO_HEADER.error(source, Span(0, 1)))
        yield from _config(source)
    else:
        yield Problem(userdata_issues.NO_KIND.error(source, Span(0, 1), part=source.path))


def _config(source: Source) -> Iterator[Problem]:
    loaded = yaml_text.load(source)
    if loaded.value is None:
        return
    if not isinstance(loaded.value, dict):
        kind = kind_of(loaded.value)
        raise userdata_issues.NOT_A_MAPPING.error(
            source, Span(0, 1), what="a cloud-config", wanted="a mapping", kind=kind
        )
    for key in ("merge_how", "merge_type"):
        try:
            merging.parse(loaded.value.get(key))
        except PrecastError as error:
            span = _span(loaded, (key,), source)
            yield Problem(userdata_issues.BAD_MERGE.error(source, span, how=loaded.value[key]))
            del error
    _, findings = registry.clean(loaded.value)
    for finding in (*loaded.findings, *findings):
        yield _problem(finding, loaded, source)


def _problem(finding: Finding, loaded: yaml_text.Loaded, source: Source) -> Problem:
    text = f"{finding.place} {finding.text}" if finding.path else finding.text
    span = _span(loaded, finding.path, source)
    return Problem(issues.WRONG_VALUE.error(source, span, text=text, hint=finding.hint), finding.is_warning)


def _span(loaded: yaml_text.Loaded, path: Path, source: Source) -> Span:
    """Where a path stands, or the nearest above it that stands somewhere."""
    here = path
    while here and here not in loaded.offsets:
        here = here[:-1]
    start = min(loaded.offsets.get(here, 0), len(source.text))
    length = len(str(here[-1])) if here and isinstance(here[-1], str) else 1
    return Span(start, min(start + length, len(source.text)))


def _template(piece: packing.Piece, source: Source, depth: int) -> Iterator[Problem]:
    """A template is looked through as it comes out where no value is known; its lines are those after the first."""
    from precast.boot.userdata import templates

    _, _, body = source.text.lstrip().partition("\n")
    rendered = templates.render(body, {}).text
    kind = by_beginning(rendered.encode())
    if kind is PartKind.TEMPLATE or depth >= _MAX_DEPTH:
        raise userdata_issues.TOO_MUCH.error(source, what="templates within one another", limit="1 level")
    inner = piece._replace(content=("\n" + rendered).encode(), content_type="")
    yield from _part(inner, f"{source.path} (rendered)", depth + 1)


def _archive(source: Source, depth: int) -> Iterator[Problem]:
    from precast.boot.userdata.reading import member

    loaded = yaml_text.load(source)
    if not isinstance(loaded.value, list):
        kind = kind_of(loaded.value)
        raise userdata_issues.NOT_A_MAPPING.error(
            source, Span(0, 1), what="an archive", wanted="a list of parts", kind=kind
        )
    if depth >= _MAX_DEPTH:
        raise userdata_issues.TOO_MUCH.error(source, what="archives within one another", limit=f"{_MAX_DEPTH} levels")
    for at, each in enumerate(loaded.value, 1):
        piece = member(each, f"part {at}")
        yield from _part(piece, f"{source.path} ({piece.name})", depth + 1)
