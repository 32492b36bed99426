"""Texts with pieces removed, repeated and inserted, as accidental editing produces them."""

from collections.abc import Sequence

from hypothesis import strategies as st


@st.composite
def mutated(draw: st.DrawFn, texts: Sequence[str], pieces: Sequence[str]) -> str:
    """One of the texts with up to four changes."""
    text: str = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 8)))
        change = draw(st.sampled_from(("put", "cut", "repeat")))
        if change == "put":
            text = text[:start] + draw(st.sampled_from(pieces)) + text[start:]
        elif change == "cut":
            text = text[:start] + text[end:]
        else:
            text = text[:start] + text[start:end] * draw(st.integers(2, 40)) + text[end:]
    return text
