"""Ruby's String#succ and ranges of strings: 'az' is followed by 'ba', 'web09' by 'web10'."""

_WRAPS = {"z": ("a", "a"), "Z": ("A", "A"), "9": ("0", "1")}


def successor(text: str) -> str:
    """Return Ruby's `succ`: letters and digits count up with a carry; in a text without any, the last character does."""
    chars = list(text)
    countable = [at for at, char in enumerate(chars) if char.isascii() and char.isalnum()]
    if not countable:
        return text[:-1] + chr(ord(text[-1]) + 1) if text else ""
    for at in reversed(countable):
        if chars[at] not in _WRAPS:
            chars[at] = chr(ord(chars[at]) + 1)
            return "".join(chars)
        chars[at], extra = _WRAPS[chars[at]]
    chars.insert(countable[0], extra)
    return "".join(chars)


def upto(first: str, last: str, most: int) -> list[str]:
    """Return at most `most` items of Ruby's `first..last`: characters by code, numbers by value, other strings by `succ`."""
    if len(first) == 1 and len(last) == 1 and first.isascii() and last.isascii():
        return [chr(code) for code in range(ord(first), ord(last) + 1)][:most]
    if first.isascii() and first.isdigit() and last.isascii() and last.isdigit():
        return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)][:most]
    if first > last:
        return []
    texts: list[str] = []
    following, after = first, successor(last)
    while following != after and len(texts) < most:
        texts.append(following)
        if following == last:
            break
        following = successor(following)
        if not following or len(following) > len(last):
            break
    return texts
