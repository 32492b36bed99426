"""`## template: jinja`: the subset of Jinja that user data uses, within limits.

It has printing, if, for, set, raw and comments over the data of the source. It is our own implementation: code that runs as root at boot
stays small, and an untrusted template can neither access Python's objects nor run for ever. Unsupported syntax is an error with its line.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from precast.boot.userdata import issues
from precast.boot.userdata.expression_values import Missing, TemplateError, format_value
from precast.boot.userdata.expressions import Budget, Expression, Token, tokenize

MAX_OUTPUT: Final = 8 << 20
MAX_DEPTH: Final = 20
_TAG = re.compile(r"\{([{%#])(-?)\s*(.*?)\s*(-?)([}%#])\}(?:(?<=[%#]\})\n)?", re.DOTALL)
_RAW_END = re.compile(r"\{%-?\s*endraw\s*-?%\}\n?")
_ENDS: Final = {"if": ("elif", "else", "endif"), "for": ("else", "endfor")}


class _TemplatePart(NamedTuple):
    """A text, or a tag with its keyword."""

    kind: str  # text, print, or the keyword of a statement
    text: str
    line: int


class RenderedTemplate(NamedTuple):
    text: str
    missing: tuple[str, ...]  # names of missing variables, as they were written


def render(text: str, variables: Mapping[str, Any], first_line: int = 2) -> RenderedTemplate:
    """Render a template; its first line is the one after the header. Raises InputError BOOT-308.

    As in cloud-init, a line break at the end stays, also after a tag that removes those that follow it.
    """
    renderer = _Renderer(variables)
    end = "\n" if text.endswith("\n") else ""
    text = text.removesuffix("\n")
    line = first_line
    try:
        pieces = _split_template(text, first_line)
        line = first_line
        renderer.parts = pieces
        out = renderer.render_block(())
    except TemplateError as error:
        at = renderer.line or line
        raise issues.BAD_TEMPLATE.error(line=at, problem=error) from None
    return RenderedTemplate(out + end, tuple(dict.fromkeys(renderer.missing)))


def _split_template(text: str, line: int) -> list[_TemplatePart]:
    parts: list[_TemplatePart] = []
    at = 0
    is_trimmed = False
    while match := _TAG.search(text, at):
        before = text[at : match.start()]
        here = line + before.count("\n")
        if {"{": "}", "%": "%", "#": "#"}[match[1]] != match[5]:
            raise TemplateError(f"the tag {match[0][:20]!r} is not closed as it was opened")
        before = before.lstrip() if is_trimmed else before
        parts.append(_TemplatePart("text", before.rstrip() if match[2] else before, line))
        is_trimmed = bool(match[4])
        line = here + match[0].count("\n")
        at = match.end()
        if match[1] == "{":
            parts.append(_TemplatePart("print", match[3], here))
        elif match[1] == "%":
            word = match[3].partition(" ")[0]
            if word == "raw":
                at -= match[0].endswith("\n")  # unlike after other tags, the line break belongs to the text
                line = here + text[match.start() : at].count("\n")
                end = _RAW_END.search(text, at)
                if end is None:
                    raise TemplateError("endraw is missing")
                parts.append(_TemplatePart("text", text[at : end.start()], here))
                line += text.count("\n", at, end.end())
                at = end.end()
                continue
            parts.append(_TemplatePart(word, match[3][len(word) :], here))
    rest = text[at:]
    parts.append(_TemplatePart("text", rest.lstrip() if is_trimmed else rest, line))
    return parts


class _Renderer:
    """Renders the parts; the parts of a loop are rendered once per iteration."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._variables = dict(variables)
        self._budget = Budget()
        self._at = 0
        self._depth = 0
        self._length = 0
        self.parts: list[_TemplatePart] = []
        self.missing: list[str] = []
        self.line = 0

    def render_block(self, ends: tuple[str, ...], is_printed: bool = True) -> str:
        """Render up to one of the `ends`, which is left for the caller."""
        out: list[str] = []
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TemplateError("it is nested too deeply")
        while self._at < len(self.parts):
            part = self.parts[self._at]
            self.line = part.line
            if part.kind in ends:
                self._depth -= 1
                return "".join(out)
            self._budget.spend()
            self._at += 1
            done = self._render_part(part, is_printed)
            if is_printed:
                out.append(done)
        if ends:
            raise TemplateError(f"{ends[-1]} is missing")
        return "".join(out)

    def _render_part(self, part: _TemplatePart, is_printed: bool) -> str:
        if part.kind == "if":
            return self._render_if(part, is_printed)
        if part.kind == "for":
            return self._render_for(part, is_printed)
        if part.kind not in ("text", "print", "set"):
            raise TemplateError(f"there is no statement {part.kind or 'without a word'}")
        if not is_printed:
            return ""
        if part.kind == "text":
            return self._count_output(part.text)
        if part.kind == "set":
            name, sign, value = part.text.partition("=")
            if not sign or not name.strip().isidentifier():
                raise TemplateError("set takes NAME = VALUE")
            self._variables[name.strip()] = self._evaluate(tokenize(value))
            return ""
        value = self._evaluate(tokenize(part.text))
        if isinstance(value, Missing):
            self.missing.append(value.name)
        return self._count_output(format_value(value))

    def _count_output(self, text: str) -> str:
        self._length += len(text)
        if self._length > MAX_OUTPUT:
            raise TemplateError(f"it prints more than {MAX_OUTPUT} characters")
        return text

    def _evaluate(self, tokens: list[Token]) -> Any:
        return Expression(tokens, self._variables, self._budget).evaluate()

    def _render_if(self, part: _TemplatePart, is_printed: bool) -> str:
        out = ""
        is_open = is_printed
        while True:
            is_taken = is_open and (part.kind == "else" or bool(self._evaluate(tokenize(part.text))))
            out += self.render_block(_ENDS["if"] if part.kind != "else" else ("endif",), is_taken)
            is_open = is_open and not is_taken
            part = self.parts[self._at]
            self._at += 1
            if part.kind == "endif":
                return out

    def _render_for(self, part: _TemplatePart, is_printed: bool) -> str:
        tokens = tokenize(part.text)
        at = next((at for at, token in enumerate(tokens) if token.value == "in" and token.kind == "name"), 0)
        names = [token.value for token in tokens[:at] if token.value != ","]
        if not names or not all(name.isidentifier() for name in names):
            raise TemplateError("for takes NAME in VALUES")
        values = self._evaluate_elements(tokens[at + 1 :]) if is_printed else []
        start = self._at
        kept = dict(self._variables)
        out: list[str] = []
        for number, value in enumerate(values):
            self._at = start
            self._bind(names, value)
            self._variables["loop"] = _make_loop_variable(number, len(values))
            out.append(self.render_block(_ENDS["for"]))
        if not values:
            self.render_block(_ENDS["for"], is_printed=False)
        self._variables = kept
        if self.parts[self._at].kind == "else":
            self._at += 1
            out.append(self.render_block(("endfor",), is_printed and not values))
        self._at += 1
        return "".join(out)

    def _evaluate_elements(self, tokens: list[Token]) -> list[Any]:
        value = self._evaluate(tokens)
        if isinstance(value, list | dict | str):
            return list(value)
        if isinstance(value, Missing):
            self.missing.append(value.name)
            return []
        raise TemplateError("for goes through a list or a mapping")

    def _bind(self, names: list[str], value: Any) -> None:
        if len(names) == 1:
            self._variables[names[0]] = value
        elif isinstance(value, list) and len(value) == len(names):
            self._variables |= dict(zip(names, value, strict=True))
        else:
            raise TemplateError(f"there are not {len(names)} values for {', '.join(names)}")


def _make_loop_variable(number: int, length: int) -> dict[str, Any]:
    return {"index": number + 1, "index0": number, "first": number == 0, "last": number == length - 1, "length": length}
