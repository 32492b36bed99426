"""A real confined process checks the catalogs of a job, and a job that it cannot check is not called sound."""

from precast.base.confinement.confine import Level
from precast.services.futures.checking.messages import CheckedPart, JointAnswer, JointRequest
from precast.services.futures.checking.process import check_in_child
from tests.unit.lang.small_manifests import compiled

DATABASE = "exec { '/bin/start': tag => 'db' } -> promise { 'db/endpoint': value => 'db1:5432' }"
WEB = "file { '/etc/app': content => \"db=${future('db/endpoint')}\" }\n-> promise { 'web/ready': value => 'yes' }"
CIRCLE = "file { '/start': content => future('web/ready') } -> promise { 'db/endpoint': value => 'x' }"


async def check(request: JointRequest, *manifests: str, with_places: bool = False) -> JointAnswer:
    catalogs = [compiled(manifest) for manifest in manifests]
    documents = {str(at): catalog.body.encoded() for at, catalog in enumerate(catalogs)}
    if with_places:
        documents |= {f"places {at}": catalog.source_map.encoded() for at, catalog in enumerate(catalogs)}

    async def read(digest: str) -> bytes:
        return documents[digest]

    return await check_in_child(request, list(documents), read, Level.BEST)


async def test_sound_job_has_the_size_of_its_net() -> None:
    parts = [CheckedPart("db1", 0), CheckedPart("web1", 1), CheckedPart("web2", 1)]
    answer = await check(JointRequest(parts, [], 2), DATABASE, WEB)
    assert (answer.problems, answer.reason, answer.waits) == ([], "", 2)


async def test_circle_is_named_with_lines_if_they_are_known() -> None:
    parts = [CheckedPart("db1", 0), CheckedPart("web1", 1)]
    answer = await check(JointRequest(parts, [], 2, 2), CIRCLE, WEB, with_places=True)
    assert [problem.code for problem in answer.problems] == ["CATALOG-014"]
    assert "Promise[web/ready] at site.pp:2" in answer.problems[0].hint


async def test_promise_that_tags_leave_out_is_not_made() -> None:
    parts = [CheckedPart("db1", 0, run_tags=["web"]), CheckedPart("web1", 1)]
    answer = await check(JointRequest(parts, [], 2), DATABASE, WEB)
    assert [problem.code for problem in answer.problems] == ["CATALOG-011"]
    assert (await check(JointRequest(parts, ["db/endpoint"], 2), DATABASE, WEB)).problems == []


async def test_part_by_class_has_only_its_own_waits() -> None:
    code = "class a { file { '/a': content => future('k') } } class b { promise { 'k': value => '1' } } include a, b"
    whole = await check(JointRequest([CheckedPart("n1", 0)], [], 1), code)
    assert (whole.problems, whole.waits) == ([], 1)
    part = await check(JointRequest([CheckedPart("n1", 0, classes=["a"])], [], 1), code)
    assert [problem.code for problem in part.problems] == ["CATALOG-011"]


async def test_process_that_fails_gives_a_reason_and_not_a_sound_job() -> None:
    async def read(digest: str) -> bytes:
        return b"{"

    answer = await check_in_child(JointRequest([CheckedPart("n1", 0)], [], 1), ["x"], read, Level.BEST)
    assert answer.reason
