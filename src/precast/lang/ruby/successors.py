"""The text that follows a text, as Ruby counts: 'az' to 'ba', 'web09' to 'web10'; and the texts from one to another."""

_WRAPS = {"z": ("a", "a"), "Z": ("A", "A"), "9": ("0", "1")}


def successor(text: str) -> str:
    """Ruby's `succ`: letters and digits count, with a carry; without any, the last character does."""
    chars = list(text)
    counting = [at for at, char in enumerate(chars) if char.isascii() and char.isalnum()]
    if not counting:
        return text[:-1] + chr(ord(text[-1]) + 1) if text else ""
    for at in reversed(counting):
        if chars[at] not in _WRAPS:
            chars[at] = chr(ord(chars[at]) + 1)
            return "".join(chars)
        chars[at], extra = _WRAPS[chars[at]]
    chars.insert(counting[0], extra)
    return "".join(chars)


def upto(first: str, last: str, most: int) -> list[str]:
    """Ruby's `first..last` of texts, no more than so many: characters by their code, numbers by value, all else by `succ`."""
    if len(first) == 1 and len(last) == 1 and first.isascii() and last.isascii():
        return [chr(code) for code in range(ord(first), ord(last) + 1)][:most]
    if first.isascii() and first.isdigit() and last.isascii() and last.isdigit():
        return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)][:most]
    if first > last or len(first) > len(last):
        return []
    found = [first]
    while found[-1] != last and len(found) < most:
        after = successor(found[-1])
        if len(after) > len(last):
            break
        found.append(after)
    return found
