"""SemVer and SemVerRange: versions and their order, and ranges in the notation of node's semver.

A range keeps its original text, and a list of alternatives with a lower and an upper bound each. As in npm and Puppet, a version with
a pre-release part is included only if a bound with the same major.minor.patch has one too.
"""

import functools
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from precast.lang.issues import types as issues
from precast.lang.values.base import Ordered, Rich, Value

MAX_CHARACTERS: Final = 1000  # of a version or a range; Python refuses numbers of thousands of digits
_PART: Final = r"(?:0|[1-9]\d*)"
_LABELS: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION: Final = re.compile(rf"({_PART})\.({_PART})\.({_PART})(?:-({_LABELS}))?(?:\+({_LABELS}))?")


@functools.total_ordering
class SemVer(Ordered):
    """A semantic version."""

    __slots__ = ("build", "major", "minor", "patch", "prerelease")
    incomparable_reason = "Versions not comparable to non Versions"

    def __init__(
        self, major: int, minor: int, patch: int, prerelease: str | None = None, build: str | None = None
    ) -> None:
        self.major = major
        self.minor = minor
        self.patch = patch
        self.prerelease = prerelease
        self.build = build

    @classmethod
    def parse(cls, text: str) -> "SemVer | None":
        """Parse a version; None if the text is not one."""
        match = _VERSION.fullmatch(text) if len(text) <= MAX_CHARACTERS else None
        if match is None or _has_leading_zero(match[4]):
            return None
        return cls(int(match[1]), int(match[2]), int(match[3]), match[4], match[5])

    @property
    def triple(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch

    def _rank(self) -> tuple[object, ...]:
        """The sort key: a pre-release precedes its release, numbers precede words, and the build comes last."""
        labels = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in (self.prerelease or "").split(".") if p)
        return *self.triple, self.prerelease is None, labels, self.build or ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemVer) and self._rank() == other._rank()

    def __lt__(self, other: "SemVer") -> bool:
        return self._rank() < other._rank()

    def __hash__(self) -> int:
        return hash(self._rank())

    def order(self, other: Value) -> int | None:
        return int(self > other) - int(self < other) if isinstance(other, SemVer) else None

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.prerelease is not None:
            text += f"-{self.prerelease}"
        return text if self.build is None else f"{text}+{self.build}"


def _has_leading_zero(labels: str | None) -> bool:
    return any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in (labels or "").split("."))


class Bounds(NamedTuple):
    """One alternative of a range; None means unbounded."""

    low: SemVer | None = None
    high: SemVer | None = None
    above_low: bool = False  # excludes the lower bound itself
    below_high: bool = False  # excludes the upper bound itself

    def includes(self, version: SemVer) -> bool:
        if self.low is not None and (version < self.low or (self.above_low and version == self.low)):
            return False
        if self.high is not None and (version > self.high or (self.below_high and version == self.high)):
            return False
        return version.prerelease is None or any(
            edge is not None and edge.prerelease is not None and edge.triple == version.triple
            for edge in (self.low, self.high)
        )

    def text(self) -> str:
        """The alternative as comparisons."""
        if self.low is not None and self.low == self.high:
            return str(self.low)
        low = "" if self.low is None else f"{'>' if self.above_low else '>='}{self.low}"
        high = "" if self.high is None else f"{'<' if self.below_high else '<='}{self.high}"
        return " ".join(filter(None, (low, high))) or ">=0.0.0"

    def narrowed(self, other: "Bounds") -> "Bounds":
        """The intersection of both."""
        low, above = _stronger((self.low, self.above_low), (other.low, other.above_low), highest=True)
        high, below = _stronger((self.high, self.below_high), (other.high, other.below_high), highest=False)
        return Bounds(low, high, above, below)

    def covers(self, other: "Bounds") -> bool:
        """Whether the other is inside this one, judging by the bounds."""
        return self.narrowed(other) == other


def _stronger(
    a: tuple[SemVer | None, bool], b: tuple[SemVer | None, bool], highest: bool
) -> tuple[SemVer | None, bool]:
    if a[0] is None or b[0] is None:
        return b if a[0] is None else a
    if a[0] == b[0]:
        return a[0], a[1] or b[1]
    return a if (a[0] > b[0]) == highest else b


class SemVerRange(Rich):
    """A set of versions."""

    __slots__ = ("alternatives", "text")

    def __init__(self, text: str, alternatives: tuple[Bounds, ...]) -> None:
        self.text = text
        self.alternatives = alternatives

    @classmethod
    def parse(cls, text: str) -> "SemVerRange":
        """Parse a range. Raises LANG-203."""
        if len(text) > MAX_CHARACTERS:
            raise issues.BAD_RANGE.error(text=f"{text[:40]}…")
        return cls(text, tuple(_alternative(text, part.strip()) for part in text.split("||")))

    @classmethod
    def exactly(cls, version: SemVer) -> "SemVerRange":
        """The range of one version, as type inference writes it."""
        return cls(f"{version} - {version}", (Bounds(version, version),))

    def normalised(self) -> str:
        """The range as comparisons only."""
        return " || ".join(bounds.text() for bounds in self.alternatives)

    def includes(self, version: SemVer) -> bool:
        return any(bounds.includes(version) for bounds in self.alternatives)

    def covers(self, other: "SemVerRange") -> bool:
        return all(any(mine.covers(theirs) for mine in self.alternatives) for theirs in other.alternatives)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemVerRange) and self.alternatives == other.alternatives

    def __hash__(self) -> int:
        return hash(self.alternatives)

    def __str__(self) -> str:
        return self.text


def bounded_range(low: SemVer | None, high: SemVer | None, below_high: bool = False) -> SemVerRange:
    """A range of two bounds. Puppet 7.23 writes such a range with its bounds swapped, and users see that text."""
    first, last = ("Infinity.0.0" if high is None else str(high)), ("0.0.0-" if low is None else str(low))
    text = f">={first} <{last}" if below_high else f"{first} - {last}"
    return SemVerRange(text, (Bounds(low, high, below_high=below_high),))


def join_ranges(ranges: Iterable[SemVerRange]) -> tuple[SemVerRange, ...]:
    """The ranges, with overlapping or adjacent ones joined."""
    result: list[SemVerRange] = []
    for added in ranges:
        for index, present in enumerate(result):
            joined = _joined(present, added)
            if joined is not None:
                result[index] = joined
                break
        else:
            result.append(added)
    return tuple(result)


def _joined(a: SemVerRange, b: SemVerRange) -> SemVerRange | None:
    if len(a.alternatives) != 1 or len(b.alternatives) != 1:
        return None
    if a.covers(b) or b.covers(a):
        return a if a.covers(b) else b
    a_bounds, b_bounds = a.alternatives[0], b.alternatives[0]
    first, second = (a_bounds, b_bounds) if _starts_before(a_bounds, b_bounds) else (b_bounds, a_bounds)
    if first.high is None or second.low is None or first.above_low or second.above_low or second.low > first.high:
        return None
    return bounded_range(first.low, second.high, second.below_high)


def _starts_before(a: Bounds, b: Bounds) -> bool:
    return a.low is None or (b.low is not None and a.low <= b.low)


_NUMBER: Final = r"(?:0|[1-9]\d*|[xX*])"
_PARTIAL: Final = rf"({_NUMBER})(?:\.({_NUMBER})(?:\.({_NUMBER})(?:-({_LABELS}))?(?:\+({_LABELS}))?)?)?"
_TERM: Final = re.compile(rf"(<=|>=|<|>|=|~>?|\^)?\s*v?{_PARTIAL}(?=\s|$)")
_HYPHEN: Final = re.compile(rf"{_PARTIAL}\s+-\s+{_PARTIAL}")


class _Partial(NamedTuple):
    """A version whose last numbers may be missing."""

    numbers: tuple[int, ...]
    prerelease: str | None

    def floor(self) -> SemVer:
        major, minor, patch = (*self.numbers, 0, 0, 0)[:3]
        return SemVer(major, minor, patch, self.prerelease)

    def next(self, keep: int) -> SemVer:
        """The first version after all that share the first `keep` numbers."""
        kept = list(self.floor().triple[:keep])
        kept[-1] += 1
        major, minor, patch = (*kept, 0, 0)[:3]
        return SemVer(major, minor, patch)


def _partial(groups: tuple[str | None, ...]) -> _Partial:
    numbers: list[int] = []
    for text in groups[:3]:
        if text is None or text in "xX*":
            break
        numbers.append(int(text))
    return _Partial(tuple(numbers), groups[3] if len(numbers) == 3 else None)


def _alternative(whole: str, text: str) -> Bounds:
    hyphen = _HYPHEN.fullmatch(text)
    if hyphen is not None:
        low, high = _partial(hyphen.groups()[:5]), _partial(hyphen.groups()[5:])
        upper = Bounds(None, high.floor()) if len(high.numbers) == 3 else _below_next(high)
        return Bounds(low.floor()).narrowed(upper)
    bounds, at = Bounds(), 0
    if not text and whole.strip():
        raise issues.BAD_RANGE.error(text=whole)
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None:
            raise issues.BAD_RANGE.error(text=whole)
        bounds = bounds.narrowed(_term(term[1] or "", _partial(term.groups()[1:])))
        at = term.end()
        while at < len(text) and text[at].isspace():
            at += 1
    return bounds


def _below_next(partial: _Partial) -> Bounds:
    return Bounds(None, partial.next(len(partial.numbers)), below_high=True) if partial.numbers else Bounds()


def _term(operator: str, partial: _Partial) -> Bounds:
    numbers = partial.numbers
    full = len(numbers) == 3
    floor = partial.floor()
    if not numbers:
        return Bounds(SemVer(0, 0, 0))
    if operator in ("~", "~>"):
        return Bounds(floor, partial.next(min(len(numbers), 2)), below_high=True)
    if operator == "^":
        keep = next((i + 1 for i, number in enumerate(numbers) if number), len(numbers))
        return Bounds(floor, partial.next(keep), below_high=True)
    if operator == ">=":
        return Bounds(floor)
    if operator == "<":
        return Bounds(None, floor, below_high=True)
    if operator == ">":
        return Bounds(floor, above_low=True) if full else Bounds(partial.next(len(numbers)))
    if operator == "<=":
        return Bounds(None, floor) if full else _below_next(partial)
    return Bounds(floor, floor) if full else Bounds(floor).narrowed(_below_next(partial))
