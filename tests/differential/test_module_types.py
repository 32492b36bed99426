"""Type code of modules: the subset refuses nothing that real Puppet accepts, nearly all that it refuses, and names the same titles."""

import os

import pytest

from lab.differential import module_types

FEWEST_TYPES = 220
FEWEST_REFUSED = (
    0.95  # of the resources that Puppet refuses; the rest depends on the node or on methods that a value lacks
)


@pytest.mark.timeout(300)  # Ruby loads all types of Debian's modules
def test_type_code_refuses_what_puppet_refuses(puppet_and_modules: None) -> None:
    seed = int(os.environ.get("PRECAST_SEED", "1"))
    result = module_types.compare(seed, 4)
    assert result.types >= FEWEST_TYPES
    assert not result.wrongly_refused, f"seed {seed}: {result.wrongly_refused[:5]}"
    missed = len(result.wrongly_accepted)
    assert result.refused >= (result.refused + missed) * FEWEST_REFUSED, f"seed {seed}: {result.wrongly_accepted[:5]}"
    assert len(result.other_relations) <= result.asked * 0.01, f"seed {seed}: {result.other_relations[:5]}"
