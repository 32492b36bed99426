"""fqdn_rand: a number that is the node's own and stays so."""

import hashlib
import re
from typing import Any

from precast.lang.functions import issues, mersenne
from precast.lang.functions.digits import integer
from precast.lang.functions.host import Call
from precast.lang.functions.legacy import legacy
from precast.lang.functions.registry import Function
from precast.lang.inputs import KeyedResult
from precast.lang.ruby.text import ruby_join, ruby_text

FQDN_RAND = Function(
    "fqdn_rand",
    "A number below the limit that follows from the node's name and the further arguments: the same in every compile, another "
    "on another node. The compile records the number, not the name.",
)


@FQDN_RAND.dispatch("Any +args", pure=False)
def _fqdn_rand(call: Call, limit: Any, seed: Any = None, downcase: Any = False, *_: Any) -> Any:
    whole = whole_number(limit)
    if whole <= 0:
        raise issues.BAD_LIMIT.error(value=whole)
    text = ruby_join((legacy(seed),), ":")
    return call.host.inputs.ask(KeyedResult("fqdn_rand", (whole, text, downcase is not False)))


def whole_number(value: Any) -> int:
    """Ruby's to_i: what a string starts with, a number without its fraction."""
    if isinstance(value, str):
        found = re.match(r"\s*([+-]?\d[\d_]*)", value)
        return integer(found[1].replace("_", "")) if found else 0
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value)
    if value is None:
        return 0
    raise issues.BAD_LIMIT.error(value=ruby_text(value))


def fqdn_rand(fqdn: str, limit: int, seed: str, downcase: bool) -> int:
    """The number for a node's name (the fact networking.fqdn): what answers the question that the function asks."""
    return seeded_draw(f"{fqdn.lower() if downcase else fqdn}:{limit}:{seed}", limit)


def seeded_draw(text: str, limit: int) -> int:
    """The number below a limit that a text stands for."""
    return mersenne.draw(int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(), 16), limit)
