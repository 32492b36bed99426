"""The circumstances of one lookup: its scope, values that precede or follow the data, and its explainer."""

from typing import Any, NamedTuple

from precast.lang.hiera.explanation import Explainer
from precast.lang.values.base import Hash

NO_VALUES = Hash()


class Invocation(NamedTuple):
    """`overrides` precede the data and `defaults` follow it, also for variables in interpolated strings.

    `module` is the module whose data may have the key. `only_global` is for a `hiera…` function in an environment without
    hiera.yaml, which sees only the global layer.
    """

    scope: Any
    overrides: Hash = NO_VALUES
    defaults: Hash = NO_VALUES
    explainer: Explainer | None = None
    module: str | None = None
    only_global: bool = False
