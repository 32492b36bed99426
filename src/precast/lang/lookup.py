"""A Hiera lookup without a manifest that asks for it, for `precast lookup`.

The keys are tried in their order until one has a value, as the function `lookup` does with a list. If hierarchies or data use
variables that manifests set, the caller can have the environment's manifests run first.
"""

from typing import Any

import msgspec

from precast.base.errors import PrecastError
from precast.lang.compile import CompileFailure, run_manifests, start_compilation
from precast.lang.compiler.compilation import Compilation
from precast.lang.compiler.suggestions import did_you_mean
from precast.lang.datatypes import mismatch
from precast.lang.hiera.explanation import Explainer, Step
from precast.lang.hiera.invocation import Invocation
from precast.lang.inputs import Inputs
from precast.lang.issues import functions as issues
from precast.lang.scope import MISSING
from precast.lang.settings import LogLine, Settings


class LookupRequest(msgspec.Struct, frozen=True):
    """Keys to look up. `merge` is a strategy's name, or a Hash with its options; `type_text` is the type required of the value."""

    keys: tuple[str, ...]
    merge: Any = None
    type_text: str | None = None
    explains: bool = False
    runs_manifests: bool = False


class LookupResult(msgspec.Struct, frozen=True):
    """`key` is None if no key has a value; `guess` then suggests an existing key, as ` (did you mean …?)`."""

    key: str | None
    value: Any
    logs: tuple[LogLine, ...]
    explanation: Step | None
    guess: str = ""


def look_up(request: LookupRequest, inputs: Inputs, settings: Settings) -> LookupResult:
    """Find the first key that has a value. Raises CompileFailure."""
    compilation = start_compilation(inputs, settings)
    explainer = Explainer() if request.explains else None
    try:
        if request.runs_manifests:
            run_manifests(compilation)
        key, value = _find_first(compilation, request, explainer)
        guess = did_you_mean(request.keys[0], compilation.lookups.known_keys()) if key is None else ""
    except PrecastError as error:
        raise CompileFailure(error, tuple(compilation.logs)) from None
    return LookupResult(key, value, tuple(compilation.logs), None if explainer is None else explainer.root, guess)


def _find_first(
    compilation: Compilation, request: LookupRequest, explainer: Explainer | None
) -> tuple[str | None, Any]:
    compilation.lookups.check_merge(request.merge)
    wanted = None if request.type_text is None else compilation.parse_type(compilation.top, request.type_text)
    for key in request.keys:
        value = compilation.lookups.find(Invocation(compilation.top, explainer=explainer), key, request.merge)
        if value is MISSING:
            continue
        if wanted is not None and not wanted.check(compilation.concrete_for_type(value, wanted)):
            reason = mismatch.describe("Found value has wrong type,", wanted, value)
            raise issues.WRONG_LOOKUP_TYPE.error(reason=reason)
        return key, value
    return None, None
