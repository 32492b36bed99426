"""Reads the text notation of nets (docs/reference/net-notation.md).

One line is one statement, and its first word says which. A clause belongs to the transition or step above it, so indentation has no
meaning. Errors are reported with their line and column. Names are resolved after the whole text is read, because a step may need one that
is declared further down.
"""

import re
from collections.abc import Callable
from typing import Any, NoReturn

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.net import issues
from precast.net.exchange.lexer import END, NOTHING, Token, split_line
from precast.net.model.builder import Builder
from precast.net.model.compiler import MOST, guess
from precast.net.model.declarations import Arcs, Place, Transition
from precast.net.model.durations import parse_duration
from precast.net.model.structure import Net

_OUTCOMES = {"failure": "on_failure", "skip": "on_skip"}


def parse(source: Source) -> Net:
    """The net that a text declares. Raises InputError NET-001 to NET-013, with the position of the error in the text."""
    return _Parser(source).parse()


class _Parser:
    """Holds the tokens of the current line and the declarations of the lines so far."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._builder = Builder()
        self._places: set[str] = set()
        self._steps: set[str] = set()
        self._used_places: list[Token] = []
        self._used_steps: list[Token] = []
        self._tokens: list[Token] = []
        # The transition whose clauses are being read, and where its name stands.
        self._open: Transition | None = None
        self._open_span = Span(0, 0)
        self._statements: dict[str, Callable[[str], None]] = {
            "net": self._net,
            "place": self._place,
            "limit": self._limit,
            "lock": self._limit,
            "goal": self._goal,
            "transition": self._transition,
            "step": self._transition,
            "needs": self._needs,
            "takes": self._arcs,
            "reads": self._arcs,
            "holds": self._arcs,
            "gives": self._arcs,
            "on": self._on,
        }

    def parse(self) -> Net:
        start = 0
        for line in re.split(r"(\r\n|\n|\r)", self._source.text):
            if line.strip():
                self._line(line, start)
            start += len(line)
        self._close()
        self._require_declared()
        return self._builder.build()

    def _line(self, line: str, start: int) -> None:
        self._tokens = list(split_line(self._source, line, start))[::-1]
        first = self._tokens.pop()
        if first.kind == END:
            return
        if first.kind != "word" or first.text not in self._statements:
            known = list(self._statements)
            raise issues.UNKNOWN_WORD.error(
                self._source, first.span, word=first.shown, guess=guess(first.text, known), known=", ".join(known)
            )
        self._statements[first.text](first.text)
        if self._tokens and self._tokens[-1].kind != END:
            self._expected("a comma or the end of the line")

    def _net(self, word: str) -> None:
        self._builder.name = self._name().text

    def _place(self, word: str) -> None:
        """place a, b [= TOKENS] [capacity N]"""
        names = self._names()
        tokens = self._number(0) if self._accept("=") else 0
        capacity = self._number(1) if self._accept("capacity") else None
        for token in names:
            self._declare_place(token, Place(token.text, tokens, capacity))

    def _limit(self, word: str) -> None:
        """limit a = N, or lock a, b"""
        names = self._names()
        if word == "limit" and not self._accept("="):
            self._expected("'=' and how many at once")
        tokens = self._number(0) if word == "limit" else 1
        for token in names:
            self._declare_place(token, Place(token.text, tokens, is_limit=True))

    def _declare_place(self, token: Token, place: Place) -> None:
        self._at(token.span, lambda: self._builder.add_place(place))
        self._places.add(place.name)

    def _goal(self, word: str) -> None:
        self._builder.goal(self._arc_list())

    def _transition(self, word: str) -> None:
        """transition NAME [DURATION] [priority N] [auto], and the same for a step."""
        self._close()
        name = self._name()
        is_step = word == "step"
        duration_ms = self._duration()
        priority = self._number(-MOST) if self._accept("priority") else 0
        is_auto = self._accept("auto")
        self._open_span = name.span
        self._open = Transition(name.text, is_step, duration_ms=duration_ms, priority=priority, is_auto=is_auto)
        if is_step:
            self._steps.add(name.text)

    def _duration(self) -> int:
        token = self._tokens[-1]
        if token.kind != "word" or not token.text[0].isdigit():
            return 0
        duration_ms = parse_duration(token.text)
        if duration_ms is None or duration_ms > MOST:
            raise issues.BAD_DURATION.error(self._source, token.span, text=token.shown)
        self._tokens.pop()
        return duration_ms

    def _needs(self, word: str) -> None:
        owner = self._owner(word, "step")
        needed = self._names()
        self._used_steps += needed
        self._open = owner._replace(needs=owner.needs + tuple(token.text for token in needed))

    def _arcs(self, word: str) -> None:
        owner = self._owner(word, "transition")
        self._extend(owner, word)

    def _on(self, word: str) -> None:
        """on failure gives a, b; on skip gives nothing"""
        owner = self._owner(word, "transition")
        field = _OUTCOMES.get(self._tokens[-1].text)
        if field is None:
            self._expected("'failure' or 'skip'")
        self._tokens.pop()
        if not self._accept("gives"):
            self._expected("'gives'")
        self._extend(owner, field)

    def _extend(self, owner: Transition, field: str) -> None:
        longer: dict[str, Any] = {field: (getattr(owner, field) or ()) + self._arc_list()}
        self._open = owner._replace(**longer)

    def _owner(self, word: str, kind: str) -> Transition:
        if self._open is None or (kind == "step" and not self._open.is_step):
            at = self._tokens[-1].span.start
            raise issues.STRAY_CLAUSE.error(self._source, Span(at - 1 - len(word), at - 1), word=word, owner=kind)
        return self._open

    def _close(self) -> None:
        """Declare the transition whose clauses are complete."""
        if (done := self._open) is not None:
            self._at(self._open_span, lambda: self._builder.add_transition(done))
        self._open = None

    def _arc_list(self) -> Arcs:
        """a, 2*b, or the word `nothing`"""
        if self._tokens[-1].kind == "word" and self._accept(NOTHING):
            return ()
        arcs = []
        while True:
            weight = 1
            if self._tokens[-1].kind == "weight":
                weight = self._whole(self._tokens.pop(), 1)
            name = self._name()
            self._used_places.append(name)
            arcs.append((name.text, weight))
            if not self._accept(","):
                return tuple(arcs)

    def _names(self) -> list[Token]:
        names = [self._name()]
        while self._accept(","):
            names.append(self._name())
        return names

    def _name(self) -> Token:
        if not self._tokens[-1].is_name:
            self._expected("a name")
        return self._tokens.pop()

    def _number(self, least: int) -> int:
        return self._whole(self._tokens.pop(), least)

    def _whole(self, token: Token, least: int) -> int:
        text = token.text.removesuffix("*")
        if not re.fullmatch(r"-?[0-9]{1,19}", text) or not least <= int(text) <= MOST:
            self._tokens.append(token)
            self._expected(f"a whole number from {least} to {MOST}")
        return int(text)

    def _accept(self, text: str) -> bool:
        """Consume the next token if it is this mark or bare word; whether it was."""
        token = self._tokens[-1]
        if token.kind not in ("word", "mark") or token.text != text:
            return False
        self._tokens.pop()
        return True

    def _expected(self, wanted: str) -> NoReturn:
        token = self._tokens[-1]
        raise issues.SYNTAX.error(self._source, token.span, wanted=wanted, found=token.shown)

    def _at(self, span: Span, declare: Callable[[], None]) -> None:
        """Declare something, and add the position in the text to an error that the builder raises."""
        try:
            declare()
        except PrecastError as error:
            raise type(error)(error.code, error.message, error.hint, self._source, span) from None

    def _require_declared(self) -> None:
        for issue, used, known in (
            (issues.UNKNOWN_PLACE, self._used_places, self._places),
            (issues.UNKNOWN_STEP, self._used_steps, self._steps),
        ):
            for token in used:
                if token.text not in known:
                    raise issue.error(self._source, token.span, name=token.text, guess=guess(token.text, known))
