"""Shellwords, and methods of texts and arrays that it adds."""

from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, of_class, plain_text, to_str
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.stdlib.shellwords import escape_shell_word, shell_words

Args = list[Any]


@of_class("Shellwords", "escape", "shellescape")
def _escape(execution: Execution, this: Any, args: Args, block: Proc | None) -> str:
    return escape_shell_word(plain_text(execution, args[0]))


@of_class("Shellwords", "join", "shelljoin")
def _join(execution: Execution, this: Any, args: Args, block: Proc | None) -> str:
    return " ".join(escape_shell_word(plain_text(execution, word)) for word in args[0])


@of_class("Shellwords", "split", "shellsplit", "shellwords")
def _split(execution: Execution, this: Any, args: Args, block: Proc | None) -> list[str]:
    words = shell_words(to_str(args[0]))
    if words is None:
        raise ValueError(f"Unmatched quote: {args[0]}")
    return words


METHODS["String"]["shellescape"] = lambda execution, this, args, block: escape_shell_word(this)
METHODS["String"]["shellsplit"] = lambda execution, this, args, block: _split(execution, None, [this], None)
METHODS["Array"]["shelljoin"] = lambda execution, this, args, block: _join(execution, None, [this], None)
