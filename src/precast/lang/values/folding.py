"""The case of text in comparisons. A module of its own, because what compares data does not need the values of the language."""

_UPPER_TO_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def fold(text: str) -> str:
    """The text as comparisons see it: only A to Z are folded."""
    return text.lower() if text.isascii() else text.translate(_UPPER_TO_LOWER)
