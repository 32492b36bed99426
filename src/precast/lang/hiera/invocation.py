"""Who looks something up: the scope it is done from, what stands before and after the data, and who wants it explained."""

from typing import Any, NamedTuple

from precast.lang.hiera.explaining import Explainer
from precast.lang.values.core import Hash

NO_VALUES = Hash()


class Invocation(NamedTuple):
    """`overrides` come before the data and `defaults` after it, for variables in interpolated texts too.

    `module` is the module whose data may have the key. `only_global`: an elder function in an environment without hiera.yaml sees
    the global layer alone.
    """

    scope: Any
    overrides: Hash = NO_VALUES
    defaults: Hash = NO_VALUES
    explainer: Explainer | None = None
    module: str | None = None
    only_global: bool = False
