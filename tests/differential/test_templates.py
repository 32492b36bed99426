"""ERB templates of real modules, rendered byte for byte as Puppet renders them with the same variables."""

import pytest

from lab.differential import rendering
from tests.differential.conftest import Compiled

# So many templates must have every rendering equal.
LEAST_EQUAL = 0.9
FEWEST_TEMPLATES = 30


@pytest.mark.timeout(300)  # Puppet compiles for both files of tests
def test_templates_are_rendered_byte_for_byte(compiled: Compiled) -> None:
    results = rendering.replay(compiled.templates)
    equal, tried = rendering.equal_templates(results)
    assert tried >= FEWEST_TEMPLATES
    wrong = "\n".join(f"{result.template}: {result.difference[:300]}" for result in results if result.difference)
    assert equal >= tried * LEAST_EQUAL, f"seed {compiled.seed}: {equal} of {tried} templates\n{wrong}"
