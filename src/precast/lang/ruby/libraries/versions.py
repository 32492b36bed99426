"""Gem::Version: versions of Ruby packages, with their order."""

import re
from typing import Any, Final

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method, of_class, plain_text
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import Instance

Args = list[Any]
_FORM: Final = re.compile(r"\s*([0-9]+(?:\.[0-9a-zA-Z]+)*(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?)?\s*")
_PART: Final = re.compile(r"[0-9]+|[a-z]+", re.IGNORECASE)


class GemVersion(Instance):
    """A version: its numbers and words, where a word makes it a pre-release."""

    kind_name = "Gem::Version"

    def __init__(self, text: str) -> None:
        if _FORM.fullmatch(text) is None:
            raise ValueError(f"Malformed version number string {text}")
        self.text = text.strip() or "0"
        parts = _PART.findall(self.text.replace("-", ".pre."))
        self.parts: list[int | str] = [int(part) if part.isdigit() else part for part in parts]

    def compared(self, other: "GemVersion") -> int:
        left, right = self._significant(), other._significant()
        for at in range(max(len(left), len(right))):
            one, two = left[at] if at < len(left) else 0, right[at] if at < len(right) else 0
            if one == two:
                continue
            if isinstance(one, int) and isinstance(two, int):
                return 1 if one > two else -1
            if isinstance(one, str) and isinstance(two, str):
                return 1 if one > two else -1
            return 1 if isinstance(one, int) else -1
        return 0

    def _significant(self) -> list[int | str]:
        parts = list(self.parts)
        while parts and parts[-1] == 0:
            parts.pop()
        return parts


@of_class("Gem::Version", "new", "create")
def _new(execution: Execution, this: Any, args: Args, block: Proc | None) -> GemVersion:
    return args[0] if isinstance(args[0], GemVersion) else GemVersion(plain_text(execution, args[0]))


@of_class("Gem::Version", "correct?")
def _is_correct(execution: Execution, this: Any, args: Args, block: Proc | None) -> bool:
    return _FORM.fullmatch(plain_text(execution, args[0])) is not None


def _other(execution: Execution, value: Any) -> GemVersion:
    return value if isinstance(value, GemVersion) else GemVersion(plain_text(execution, value))


def _declare_comparisons() -> None:
    tests = {
        "<=>": lambda order: order, "==": lambda order: order == 0, "<": lambda order: order < 0, "<=": lambda order: order <= 0,
        ">": lambda order: order > 0, ">=": lambda order: order >= 0,
    }  # fmt: skip
    for name, test in tests.items():

        def run(execution: Execution, this: GemVersion, args: Args, block: Proc | None, test: Any = test) -> Any:
            return test(this.compared(_other(execution, args[0])))

        method("Gem::Version", name)(run)


_declare_comparisons()


@method("Gem::Version", "to_s", "version")
def _text(execution: Execution, this: GemVersion, args: Args, block: Proc | None) -> str:
    return this.text


@method("Gem::Version", "segments")
def _segments(execution: Execution, this: GemVersion, args: Args, block: Proc | None) -> list[Any]:
    return list(this.parts)


@method("Gem::Version", "prerelease?")
def _is_prerelease(execution: Execution, this: GemVersion, args: Args, block: Proc | None) -> bool:
    return any(isinstance(part, str) for part in this.parts)
