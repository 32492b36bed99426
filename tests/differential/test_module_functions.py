"""Functions that modules write in Ruby: the subset and our implementations return what Puppet returns, over generated arguments."""

import os

import pytest

from lab.differential import module_functions

FEWEST_FUNCTIONS = 120
FEWEST_SUCCESSFUL = 0.15
CALLS = 6


def _seed() -> int:
    return int(os.environ.get("PRECAST_SEED", "1"))


@pytest.mark.timeout(300)  # Ruby makes some 800 calls in one process
def test_functions_in_the_subset_return_what_puppet_returns(puppet_and_modules: None) -> None:
    result = module_functions.compare(_seed(), CALLS)
    assert len(result.functions) >= FEWEST_FUNCTIONS
    assert result.successful >= result.calls * FEWEST_SUCCESSFUL
    assert not result.differences, f"seed {_seed()}: {result.differences[:5]}"


@pytest.mark.timeout(300)
def test_implementations_of_ours_return_what_their_files_return(puppet_and_modules: None) -> None:
    result = module_functions.compare(_seed(), CALLS, with_ours=True)
    assert len(result.functions) >= FEWEST_FUNCTIONS
    assert not result.differences, f"seed {_seed()}: {result.differences[:5]}"
