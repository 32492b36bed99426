"""Renders an ERB text: a String, or an unknown value if something in it is not known yet."""

import contextlib
from typing import Any

from precast.base import digests
from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.erb.evaluation import Code, Evaluation
from precast.lang.ruby.erb.frames import Frame
from precast.lang.ruby.erb.rendering import Leaving, Rendering, TemplateHost
from precast.lang.ruby.erb.values import text_of
from precast.lang.ruby.methods import library
from precast.lang.ruby.syntax.parser import parse

library.load()

_made: dict[tuple[str, str], Code] = {}
_MADE_KEPT = 2_000


def code_of(source: Source) -> Code:
    """A template's code, made once for its text. Raises InputError LANG-900 or LANG-901."""
    key = (source.path, digests.of_bytes(source.text.encode()))
    found = _made.get(key)
    if found is None:
        if len(_made) >= _MADE_KEPT:
            _made.clear()
        found = _made[key] = Evaluation(source).code(parse(source))
    return found


def render(host: TemplateHost, scope: Any, source: Source) -> Any:
    """The text of a template. Raises InputError LANG-900 to LANG-906."""
    rendering = Rendering(host, scope)
    try:
        with contextlib.suppress(Leaving):  # `return` at the top ends the template
            code_of(source)(Frame(rendering))
    except RecursionError:
        raise issues.TOO_DEEP.error() from None
    rendering.hand_back()
    return text_of(rendering.out)
