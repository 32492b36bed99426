"""fqdn_rand: a number that is derived from the node's name and stays the same in every compile."""

import hashlib
import re
from typing import Any

from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function
from precast.lang.inputs import KeyedResult
from precast.lang.issues import functions as issues
from precast.lang.ruby.legacy_values import to_legacy
from precast.lang.ruby.puppet_text import ruby_join, ruby_text
from precast.lang.ruby.stdlib import mersenne_twister as mersenne
from precast.lang.ruby.stdlib.digits import integer

FQDN_RAND = Function(
    "fqdn_rand",
    "Returns a number below the limit that is derived from the node's name and the further arguments: the same in every "
    "compile, but different between nodes. The compile records the number, not the name.",
)


@FQDN_RAND.dispatch("Any +args", pure=False)
def _fqdn_rand(call: Call, limit: Any, seed: Any = None, downcase: Any = False, *_: Any) -> Any:
    whole = whole_number(limit)
    if whole <= 0:
        raise issues.BAD_LIMIT.error(value=whole)
    text = ruby_join((to_legacy(seed),), ":")
    return call.host.inputs.ask(KeyedResult("fqdn_rand", (whole, text, downcase is not False)))


def whole_number(value: Any) -> int:
    """Return Ruby's `to_i`: the integer at the beginning of a string, or a number without its fraction."""
    if isinstance(value, str):
        match = re.match(r"\s*([+-]?\d[\d_]*)", value)
        return integer(match[1].replace("_", "")) if match else 0
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value)
    if value is None:
        return 0
    raise issues.BAD_LIMIT.error(value=ruby_text(value))


def fqdn_rand(fqdn: str, limit: int, seed: str, downcase: bool) -> int:
    """Return the number for a node's name (the fact networking.fqdn): the answer to the question that the function asks."""
    return seeded_draw(f"{fqdn.lower() if downcase else fqdn}:{limit}:{seed}", limit)


def seeded_draw(text: str, limit: int) -> int:
    """Return the number below a limit that is derived from a text."""
    return mersenne.draw(int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(), 16), limit)
