"""Functions with reproducible pseudo-random results, derived from a seed or from the node's name.

The compile asks its inputs for the result and not for the node's name, so that its trace does not depend on the name. Ruby's shuffle
would give another catalog with every compile: here the elements themselves are the seed.
"""

import hashlib
import uuid
from typing import Any, Final

from precast.lang.functions.fqdn_rand import seeded_draw
from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import argument_error, declare, declare_legacy
from precast.lang.functions.modules.predicates import is_integer
from precast.lang.inputs import KeyedResult
from precast.lang.ruby.puppet_text import ruby_inspect, ruby_join
from precast.lang.ruby.puppet_values import to_i
from precast.lang.ruby.stdlib import mersenne_twister as mersenne

_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FQDN_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MAX_LENGTH: Final = 10_000


def _positive(name: str, value: Any) -> int:
    number = to_i(value) if isinstance(value, str) else value
    if not is_integer(value) or number <= 0:
        raise argument_error(name, "first argument must be a positive integer")
    return int(number)


@declare_legacy("seeded_rand", "Any limit, String seed", "Returns a number below a limit that is derived from a seed.")
def _seeded_rand(limit: Any, seed: str) -> int:
    return seeded_draw(seed, _positive("seeded_rand", limit))


@declare(
    "seeded_rand_string",
    "Integer[1] length, String seed, String[2] characters?",
    "Returns a text of that length that is derived from a seed.",
)
def _seeded_rand_string(length: int, seed: str, characters: str = _LETTERS) -> str:
    numbers = mersenne.draws(int(hashlib.sha256(seed.encode()).hexdigest(), 16), len(characters))
    return "".join(characters[next(numbers)] for _ in range(min(length, _MAX_LENGTH)))


@declare_legacy(
    "fqdn_rand_string",
    "Any length, Any characters?, Any *seeds",
    "Returns a text of that length that is derived from the node's name and the seeds: the same in every compile, but different "
    "between nodes.",
    pure=False,
)
def _fqdn_rand_string(call: Call, length: Any, characters: Any = "", *seeds: Any) -> str:
    count = _positive("fqdn_rand_string", length)
    if not isinstance(characters, str):
        raise argument_error("fqdn_rand_string", "second argument must be undef or a string")
    if count > _MAX_LENGTH:
        raise argument_error("fqdn_rand_string", f"a text of {count} characters is longer than {_MAX_LENGTH}")
    letters = characters or _FQDN_LETTERS
    texts = (ruby_join((*seeds, str(turn)), ":") for turn in range(1, count + 1))
    return "".join(
        letters[call.host.inputs.ask(KeyedResult("fqdn_rand", (len(letters), text, False)))] for text in texts
    )


@declare_legacy(
    "fqdn_rotate",
    "Variant[Array, String] value, Any *seeds",
    "Rotates an array or text by a number that is derived from the node's name and the seeds.",
    pure=False,
)
def _fqdn_rotate(call: Call, value: Any, *seeds: Any) -> Any:
    if len(value) < 2:
        return value
    by = call.host.inputs.ask(KeyedResult("fqdn_rotate", (len(value), ruby_join(seeds, ":"))))
    return value[by:] + value[:by]


@declare_legacy("fqdn_uuid", "String name", "Returns the version 5 UUID of a domain name.")
def _fqdn_uuid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


@declare_legacy(
    "shuffle",
    "Variant[Array, String] value, Any *rest",
    "Shuffles an array or text; the order is derived from its content, so that every compile gives the same.",
)
def _shuffle(value: Any, *rest: Any) -> Any:
    items = list(value)
    seed = ruby_inspect(value)
    for at in range(len(items) - 1):
        swapped = at + seeded_draw(f"{seed}:{at}", len(items) - at)
        items[at], items[swapped] = items[swapped], items[at]
    return "".join(items) if isinstance(value, str) else tuple(items)
