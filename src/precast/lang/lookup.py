"""A look-up by itself, without a manifest that asks for it: what `precast lookup` shows.

The keys are tried in their order until one has a value, as the function `lookup` does with a list. Where hierarchies or data name
variables that manifests set, the environment's manifests can be run first.
"""

from typing import Any

import msgspec

from precast.base.errors import PrecastError
from precast.lang.compile import CompileFailure, run_manifests, started
from precast.lang.compiler.guesses import did_you_mean
from precast.lang.compiler.run import Run
from precast.lang.datatypes import mismatch
from precast.lang.functions import issues
from precast.lang.hiera.explaining import Explainer, Step
from precast.lang.hiera.invocation import Invocation
from precast.lang.inputs import Inputs
from precast.lang.scope import MISSING
from precast.lang.settings import LogLine, Settings


class Request(msgspec.Struct, frozen=True):
    """What is looked up. `merge` is a strategy's name, or a Hash with its options; `type_text` the type that the value must have."""

    keys: tuple[str, ...]
    merge: Any = None
    type_text: str | None = None
    explains: bool = False
    runs_manifests: bool = False


class Found(msgspec.Struct, frozen=True):
    """`key` is None if no key has a value; `guess` is then a key that may have been meant, with a question mark around it."""

    key: str | None
    value: Any
    logs: tuple[LogLine, ...]
    explanation: Step | None
    guess: str = ""


def look_up(request: Request, inputs: Inputs, settings: Settings) -> Found:
    """The first key that has a value. Raises CompileFailure."""
    run = started(inputs, settings)
    explainer = Explainer() if request.explains else None
    try:
        if request.runs_manifests:
            run_manifests(run)
        key, value = _first(run, request, explainer)
        guess = did_you_mean(request.keys[0], run.lookups.known_keys()) if key is None else ""
    except PrecastError as error:
        raise CompileFailure(error, tuple(run.logs)) from None
    return Found(key, value, tuple(run.logs), None if explainer is None else explainer.root, guess)


def _first(run: Run, request: Request, explainer: Explainer | None) -> tuple[str | None, Any]:
    run.lookups.check_merge(request.merge)
    wanted = None if request.type_text is None else run.parse_type(run.top, request.type_text)
    for key in request.keys:
        value = run.lookups.find(Invocation(run.top, explainer=explainer), key, request.merge)
        if value is MISSING:
            continue
        if wanted is not None and not wanted.check(run.fitting(value, wanted)):
            reason = mismatch.describe("Found value has wrong type,", wanted, value)
            raise issues.WRONG_LOOKUP_TYPE.error(reason=reason)
        return key, value
    return None, None
