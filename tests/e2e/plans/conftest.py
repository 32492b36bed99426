"""One fleet for the files of this directory that use it."""

from collections.abc import Iterator

import pytest

from tests.e2e.plans.plan_fleet import PlanFleet, running_plan_fleet


@pytest.fixture(scope="package")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlanFleet]:
    with running_plan_fleet(tmp_path_factory.mktemp("plans")) as created:
        yield created
