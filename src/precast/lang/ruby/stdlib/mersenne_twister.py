"""Ruby's `Random.new(seed).rand(limit)`: the same numbers as Ruby for the same seed, so that cron minutes stay where they are.

The generator is MT19937, seeded by the words of the seed; it computes only the states that a draw needs. A draw takes as many bits as
the limit has, word by word from the top, and starts again if the number is too large.
"""

from collections.abc import Iterator

_N, _M = 624, 397
_WORD = 0xFFFFFFFF


def draw(seed: int, limit: int) -> int:
    """Return a number from 0 up to, but not including, the limit, which must be positive."""
    return next(draws(seed, limit))


def draws(seed: int, limit: int) -> Iterator[int]:
    """Yield numbers as `draw` returns them, all from the same generator."""
    most = limit - 1
    mask = (1 << most.bit_length()) - 1
    words = _words(_seed_state(seed))
    while True:
        value = _attempt(words, mask, most) if most else 0
        if value is not None:
            yield value


def _attempt(words: Iterator[int], mask: int, most: int) -> int | None:
    """Return one number, built from the highest word down; None as soon as it is too large."""
    value = 0
    for shift in range((mask.bit_length() - 1) // 32 * 32, -1, -32):
        value = (value | next(words) << shift) & mask
        if value > most:
            return None
    return value


def _seed_state(seed: int) -> list[int]:
    """Return the state for a seed. Ruby drops a highest word of 1, and seeds differently for one word and for several."""
    words = [abs(seed) >> shift & _WORD for shift in range(0, max(abs(seed).bit_length(), 1), 32)]
    if len(words) > 1 and words[-1] == 1:
        words.pop()
    return _from_word(words[0]) if len(words) == 1 else _from_words(words)


def _from_word(word: int) -> list[int]:
    state = [word]
    for index in range(1, _N):
        before = state[-1]
        state.append((1812433253 * (before ^ before >> 30) + index) & _WORD)
    return state


def _from_words(key: list[int]) -> list[int]:
    state = _from_word(19650218)
    at, in_key = 1, 0
    for _ in range(max(_N, len(key))):
        before = state[at - 1]
        state[at] = ((state[at] ^ (before ^ before >> 30) * 1664525) + key[in_key] + in_key) & _WORD
        at, in_key = at + 1, (in_key + 1) % len(key)
        if at == _N:
            state[0], at = state[-1], 1
    for _ in range(_N - 1):
        before = state[at - 1]
        state[at] = ((state[at] ^ (before ^ before >> 30) * 1566083941) - at) & _WORD
        at += 1
        if at == _N:
            state[0], at = state[-1], 1
    state[0] = 0x80000000
    return state


def _words(state: list[int]) -> Iterator[int]:
    """Yield the output words; each updates one word of the state, so that few draws cost little."""
    at = 0
    while True:
        after = state[(at + 1) % _N]
        mixed = state[at] & 0x80000000 | after & 0x7FFFFFFF
        word = state[(at + _M) % _N] ^ mixed >> 1 ^ (0x9908B0DF if after & 1 else 0)
        state[at] = word
        at = (at + 1) % _N
        word ^= word >> 11
        word ^= word << 7 & 0x9D2C5680
        word ^= word << 15 & 0xEFC60000
        yield word ^ word >> 18
