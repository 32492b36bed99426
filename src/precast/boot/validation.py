"""Validates user data or a network configuration before a machine is booted with it, and reports each problem with its line and column.

It uses the same declarations as a boot and so reports the same problems; it runs nothing and fetches nothing.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.boot import issues
from precast.boot.modules import registry
from precast.boot.modules.schema import Finding, Path, describe_value
from precast.boot.network.readers import documents as network
from precast.boot.userdata import encodings, merge, yaml_text
from precast.boot.userdata import issues as userdata_issues
from precast.boot.userdata.kinds import PartKind, find_kind, find_kind_by_beginning

_NETWORK = re.compile(r"^(network:|version:\s*[12]\s*$)", re.MULTILINE)
_MAX_DEPTH = 4


class Problem(NamedTuple):
    """A problem with its position, where that is known. A warning does not make the validation fail."""

    error: PrecastError
    is_warning: bool = False


def validate(name: str, data: bytes) -> list[Problem]:
    """Return all problems of a file, ordered by position."""
    problems: list[Problem] = []
    try:
        for part in encodings.extract_parts(data, name):
            problems += _check_part(part, name if part.name == name else f"{name} ({part.name})", 0)
    except PrecastError as error:
        problems.append(Problem(error))
    return sorted(problems, key=lambda each: each.error.span.start if each.error.span else -1)


def _check_part(part: encodings.UserDataPart, name: str, depth: int) -> Iterator[Problem]:
    kind = find_kind(part.content_type, part.content)
    try:
        text = part.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Problem(userdata_issues.BAD_PACKING.error(what=name, reason=f"it is not UTF-8 ({error.reason})"))
        return
    source = Source(name, text)
    try:
        if kind is PartKind.CONFIG:
            yield from _check_config(source)
        elif kind is PartKind.TEMPLATE:
            yield from _check_template(part, source, depth)
        elif kind is PartKind.ARCHIVE:
            yield from _check_archive(source, depth)
        elif kind in (PartKind.HANDLER, PartKind.UPSTART):
            hint = "make it a script that begins with #!"
            yield Problem(userdata_issues.NOT_RUN.error(source, part=name, kind=kind.value, hint=hint), True)
        elif kind is None:
            yield from _check_unmarked(source)
    except PrecastError as error:
        yield Problem(error)


def _check_unmarked(source: Source) -> Iterator[Problem]:
    """Check a text without a known header: a network configuration, or a cloud-config that lacks its first line."""
    if _NETWORK.search(source.text):
        read = network.read_text(source.path, source.text)
        yield from (Problem(warning, True) for warning in read.warnings)
        return
    loaded = yaml_text.load(source)
    if isinstance(loaded.value, dict) and any(key in registry.list_schemas() for key in loaded.value):
        yield Problem(issues.NO_HEADER.error(source, Span(0, 1)))
        yield from _check_config(source)
    else:
        yield Problem(userdata_issues.NO_KIND.error(source, Span(0, 1), part=source.path))


def _check_config(source: Source) -> Iterator[Problem]:
    loaded = yaml_text.load(source)
    if loaded.value is None:
        return
    if not isinstance(loaded.value, dict):
        kind = describe_value(loaded.value)
        raise userdata_issues.NOT_A_MAPPING.error(
            source, Span(0, 1), what="a cloud-config", wanted="a mapping", kind=kind
        )
    for key in ("merge_how", "merge_type"):
        try:
            merge.parse_rules(loaded.value.get(key))
        except PrecastError as error:
            span = _find_span(loaded, (key,), source)
            yield Problem(userdata_issues.BAD_MERGE.error(source, span, how=loaded.value[key]))
            del error
    _, findings = registry.clean(loaded.value)
    for finding in (*loaded.findings, *findings):
        yield _make_problem(finding, loaded, source)


def _make_problem(finding: Finding, loaded: yaml_text.YamlDocument, source: Source) -> Problem:
    text = f"{finding.location} {finding.text}" if finding.path else finding.text
    span = _find_span(loaded, finding.path, source)
    return Problem(issues.WRONG_VALUE.error(source, span, text=text, hint=finding.hint), finding.is_warning)


def _find_span(loaded: yaml_text.YamlDocument, path: Path, source: Source) -> Span:
    """Find the position of a path, or of its nearest ancestor that has one."""
    here = path
    while here and here not in loaded.offsets:
        here = here[:-1]
    start = min(loaded.offsets.get(here, 0), len(source.text))
    length = len(str(here[-1])) if here and isinstance(here[-1], str) else 1
    return Span(start, min(start + length, len(source.text)))


def _check_template(part: encodings.UserDataPart, source: Source, depth: int) -> Iterator[Problem]:
    """Check a template as it renders without any variable; line numbers start after the header."""
    from precast.boot.userdata import templates

    _, _, body = source.text.lstrip().partition("\n")
    rendered = templates.render(body, {}).text
    kind = find_kind_by_beginning(rendered.encode())
    if kind is PartKind.TEMPLATE or depth >= _MAX_DEPTH:
        raise userdata_issues.TOO_MUCH.error(source, what="templates within one another", limit="1 level")
    inner = part._replace(content=("\n" + rendered).encode(), content_type="")
    yield from _check_part(inner, f"{source.path} (rendered)", depth + 1)


def _check_archive(source: Source, depth: int) -> Iterator[Problem]:
    from precast.boot.userdata.reader import read_archive_entry

    loaded = yaml_text.load(source)
    if not isinstance(loaded.value, list):
        kind = describe_value(loaded.value)
        raise userdata_issues.NOT_A_MAPPING.error(
            source, Span(0, 1), what="an archive", wanted="a list of parts", kind=kind
        )
    if depth >= _MAX_DEPTH:
        raise userdata_issues.TOO_MUCH.error(source, what="archives within one another", limit=f"{_MAX_DEPTH} levels")
    for at, each in enumerate(loaded.value, 1):
        part = read_archive_entry(each, f"part {at}")
        yield from _check_part(part, f"{source.path} ({part.name})", depth + 1)
