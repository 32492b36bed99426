"""Numbers and texts that look random and stay what they are: of a seed, or of the node's name.

What follows from the node's name is asked for as a result, so that the name itself stays open. A shuffle without a seed would give
another catalog with every compile: here the elements themselves are the seed.
"""

import hashlib
import uuid
from typing import Any, Final

from precast.lang.functions import mersenne
from precast.lang.functions.chance import seeded_draw
from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import declare, declare_older, wrong
from precast.lang.functions.modules.predicates import is_integer
from precast.lang.inputs import KeyedResult
from precast.lang.ruby.text import ruby_inspect, ruby_join
from precast.lang.ruby.values import to_i

_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS_OF_HOSTS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LONGEST: Final = 10_000


def _positive(name: str, value: Any) -> int:
    number = to_i(value) if isinstance(value, str) else value
    if not is_integer(value) or number <= 0:
        raise wrong(name, "first argument must be a positive integer")
    return int(number)


@declare_older("seeded_rand", "Any limit, String seed", "A number below a limit that follows from a seed.")
def _seeded_rand(limit: Any, seed: str) -> int:
    return seeded_draw(seed, _positive("seeded_rand", limit))


@declare(
    "seeded_rand_string",
    "Integer[1] length, String seed, String[2] characters?",
    "A text of that length that follows from a seed.",
)
def _seeded_rand_string(length: int, seed: str, characters: str = _LETTERS) -> str:
    numbers = mersenne.draws(int(hashlib.sha256(seed.encode()).hexdigest(), 16), len(characters))
    return "".join(characters[next(numbers)] for _ in range(min(length, _LONGEST)))


@declare_older(
    "fqdn_rand_string",
    "Any length, Any characters?, Any *seeds",
    "A text of that length that follows from the node's name and the seeds: the same in every compile, another on another node.",
    pure=False,
)
def _fqdn_rand_string(call: Call, length: Any, characters: Any = "", *seeds: Any) -> str:
    count = _positive("fqdn_rand_string", length)
    if not isinstance(characters, str):
        raise wrong("fqdn_rand_string", "second argument must be undef or a string")
    if count > _LONGEST:
        raise wrong("fqdn_rand_string", f"a text of {count} characters is longer than {_LONGEST}")
    letters = characters or _LETTERS_OF_HOSTS
    texts = (ruby_join((*seeds, str(turn)), ":") for turn in range(1, count + 1))
    return "".join(
        letters[call.host.inputs.ask(KeyedResult("fqdn_rand", (len(letters), text, False)))] for text in texts
    )


@declare_older(
    "fqdn_rotate",
    "Variant[Array, String] value, Any *seeds",
    "An array or text, turned by a number that follows from the node's name and the seeds.",
    pure=False,
)
def _fqdn_rotate(call: Call, value: Any, *seeds: Any) -> Any:
    if len(value) < 2:
        return value
    by = call.host.inputs.ask(KeyedResult("fqdn_rotate", (len(value), ruby_join(seeds, ":"))))
    return value[by:] + value[:by]


@declare_older("fqdn_uuid", "String name", "The UUID, version 5, of a domain name.")
def _fqdn_uuid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


@declare_older(
    "shuffle",
    "Variant[Array, String] value, Any *rest",
    "An array or text in another order, which follows from its content: each compile gives the same.",
)
def _shuffle(value: Any, *rest: Any) -> Any:
    items = list(value)
    seed = ruby_inspect(value)
    for at in range(len(items) - 1):
        other = at + seeded_draw(f"{seed}:{at}", len(items) - at)
        items[at], items[other] = items[other], items[at]
    return "".join(items) if isinstance(value, str) else tuple(items)
