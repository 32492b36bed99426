"""Secrets are planted wherever one can enter, and then looked for in everything that servers and nodes store, answer and print.

A node applies two versions of the code, the second with other secrets. Then the search goes over the database, logs, answers of all routes,
reports, output of commands, backups, a support bundle, what crashes leave, and the files of the node. A secret may be only in files that
nobody but root can read on the node whose catalog names it. The last part of the output is the table of what was looked at.
"""

from collections.abc import Iterator

import pytest

from lab.canaries import Search
from lab.postgres import PostgresServer
from lab.private_machine import MISSING
from tests.e2e.secrets.canary_search import ALLOWED, look_everywhere
from tests.e2e.secrets.canary_site import CanarySite

pytestmark = [pytest.mark.timeout(900), pytest.mark.skipif(bool(MISSING), reason=MISSING or "available")]

# What the search leaves out, and why. These are clear text where they enter, before Precast could know that they are secret.
CLEAR_TEXT = {
    "classification": "parameters of classes that an operator sets are plain data, which every viewer sees; the documentation says so",
    "fact": "a fact is what the node itself sends; servers keep facts in clear, and the documentation says so",
}


@pytest.fixture(params=["sqlite", "postgresql"])
def postgres_of_site(request: pytest.FixtureRequest) -> PostgresServer | None:
    """The database server of a site that does not use SQLite."""
    return request.getfixturevalue("postgres") if request.param == "postgresql" else None


@pytest.fixture
def canary_site(
    postgres_of_site: PostgresServer | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CanarySite]:
    directory = tmp_path_factory.mktemp("canary")
    for place in (directory, directory.parent, directory.parent.parent):
        place.chmod(0o755)
    database = None if postgres_of_site is None else postgres_of_site.url(postgres_of_site.create_database())
    made = CanarySite(directory, database)
    try:
        made.start()
        yield made
    finally:
        made.close()


def test_planted_secrets_are_found_nowhere_but_in_root_only_files_of_their_node(
    canary_site: CanarySite, postgres_of_site: PostgresServer | None
) -> None:
    site = canary_site
    for canaries in (site.first, site.second):
        site.deploy(canaries)
        site.apply(canaries)
        site.collect(canaries["exported"])
    search = Search([*site.first.values(), *site.second.values()])
    look_everywhere(site, search, postgres_of_site)
    print(search.table(CLEAR_TEXT))
    leaks = {
        place: hits
        for place, found in search.found.items()
        if place != ALLOWED and (hits := [hit for hit in found if hit.canary not in CLEAR_TEXT])
    }
    assert leaks == {}, "\n" + "\n".join(sorted({f"{place}: {hit}" for place, hits in leaks.items() for hit in hits}))
    names = {hit.canary for hit in search.found[ALLOWED]}
    assert len(names) > 20, "the secrets are on the node, so they are found there"
