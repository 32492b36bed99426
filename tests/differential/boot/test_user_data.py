"""The same user data makes the same machine with Debian's cloud-init and with Precast, but for the reasons that the lab lists.

Needs root and the Debian root with cloud-init that `python -m lab.debian_root` creates. `make soak` compares all documents here and the
examples that cloud-init ships; `python -m lab.boot_equality FILE …` compares others.
"""

from pathlib import Path

import pytest

from lab import debian_root
from lab.boot_equality.__main__ import EXAMPLES, OWN, format_row, list_documents
from lab.boot_equality.comparison import EQUAL, ON_PURPOSE, Comparison, compare, prepare
from lab.boot_equality.reasons import REASONS

_WHY_NOT = debian_root.why_not(debian_root.CLOUD_PLACE)
pytestmark = [
    pytest.mark.skipif(_WHY_NOT is not None, reason=str(_WHY_NOT)),
    pytest.mark.needs("ip"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("machines")
    prepare(place)
    return place


def compare_own(base: Path, name: str) -> Comparison:
    return compare(base, name, (OWN / name).read_bytes())


@pytest.mark.parametrize(
    "name",
    ["default-twice.yaml", "files-owner-never.yaml", "hardening.yaml", "passwords-list.yaml", "users-order.yaml",
     "users-unknown-keys.yaml"],
)  # fmt: skip
def test_machines_are_equal(base: Path, name: str) -> None:
    result = compare_own(base, name)
    assert (result.unexplained, result.verdict) == ([], EQUAL)


def test_package_that_failed_prevents_no_other_and_is_not_listed_as_installed(base: Path) -> None:
    result = compare_own(base, "packages-one-missing.yaml")
    assert (result.unexplained, result.verdict) == ([], ON_PURPOSE)
    [(code, output)] = result.said["precast"]
    assert code == 1
    assert "Package[git]: installed" in output
    assert "Package[no-such-package]" not in output


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_every_document_makes_the_same_machine_and_every_reason_is_needed(base: Path) -> None:
    results = [compare(base, name, data) for name, data in list_documents([OWN, EXAMPLES])]
    for result in results:
        print(format_row(result))
    assert [(result.name, result.unexplained) for result in results if result.unexplained] == []
    assert set(REASONS) == {reason for result in results for reason in result.reasons}
