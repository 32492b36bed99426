"""The tokens of an EPP template: text between tags becomes RENDER_STRING, code inside tags is lexed as in a manifest.

`<%-` removes the blanks before it, `-%>` the blanks and one line break after it; `<%#` is a comment, `<%%` and `%%>` are the tags
themselves as text. The tokens of `<%= … %>` are enclosed in RENDER_START and RENDER_END; other tags leave no token, so that a block
may begin in one tag and end in another.
"""

import re
from typing import Final

from precast.base.spans import Source
from precast.lang.issues import syntax as issues
from precast.lang.syntax import tokens as t
from precast.lang.syntax.lexer import EPP_CODE, Lexer

_TAG: Final = re.compile(r"<%%|%%>|<%[#=-]?")
_COMMENT_END: Final = re.compile(r"-?%>")
_AFTER: Final = re.compile(r"[ \t]*\r?\n?")


class EppLexer(Lexer):
    """Alternates between the text up to a tag and the code in the tag."""

    def __init__(self, source: Source, tokens: t.Tokens) -> None:
        super().__init__(source, source.text, tokens, patterns=EPP_CODE)
        self._tag_start = 0
        self._renders = False

    def lex_template(self) -> None:
        pos = self.lex_text(0)
        if pos is not None:
            self.lex_code(pos)

    def lex_text(self, pos: int, is_trimmed: bool = False) -> int | None:
        """Emit the text up to the next tag; give the offset where its code begins, None at the end of the template.

        Removed blanks at the end count as text, so the code before them is not the last statement.
        """
        text = self.text
        parts: list[str] = []
        first = start = pos
        while (match := _TAG.search(text, pos)) is not None:
            tag = match.group()
            pos = match.end()
            parts.append(text[start : match.start()])
            start = pos
            if tag in ("<%%", "%%>"):
                parts.append(tag.replace("%%", "%"))
            elif tag == "<%#":
                if text.startswith("-", pos):  # `<%#-` removes the blanks before it, as `<%-` does
                    parts = ["".join(parts).rstrip(" \t")]
                pos = start = self._comment_end(match.start(), pos)
            else:
                if tag == "<%-":
                    parts = ["".join(parts).rstrip(" \t")]
                self._add_text(parts, first, match.start())
                self._tag_start = match.start()
                self._renders = tag == "<%="
                if self._renders:
                    self.tokens.add(t.RENDER_START, tag, match.start(), pos)
                return pos
        if is_trimmed and first == len(text):
            self.tokens.add(t.RENDER_STRING, "", first, first)
        self._add_text([*parts, text[start:]], first, len(text))
        self.tokens.add(t.END, "", len(text), len(text))
        return None

    def _comment_end(self, start: int, pos: int) -> int:
        ending = _COMMENT_END.search(self.text, pos)
        if ending is None:
            self.fail(issues.UNCLOSED_TAG, start, start + 3)
        return self._after(ending.group(), ending.end())

    def _after(self, tag: str, pos: int) -> int:
        if tag.startswith("-"):
            blanks = _AFTER.match(self.text, pos)
            assert blanks is not None
            return blanks.end()
        return pos

    def _add_text(self, parts: list[str], start: int, end: int) -> None:
        value = "".join(parts)
        if value:
            self.tokens.add(t.RENDER_STRING, value, start, end)

    def special(self, group: str, start: int, end: int, is_nested: bool) -> int | None:
        if group == "tag_end":
            if is_nested:
                self.tokens.add(t.OTHER, self.text[start:end], start, end)
                return end
            if self._renders:
                self.tokens.add(t.RENDER_END, self.text[start:end], start, end)
            pos = self._after(self.text[start:end], end)
            return self.lex_text(pos, is_trimmed=pos > end)
        if group == "end" and not is_nested:
            self.fail(issues.UNCLOSED_TAG, self._tag_start, self._tag_start + 2)
        return super().special(group, start, end, is_nested)


def lex_epp(source: Source) -> t.Tokens:
    """The tokens of a template."""
    tokens = t.Tokens()
    EppLexer(source, tokens).lex_template()
    return tokens
