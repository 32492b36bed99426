"""The byte range that a header asks for."""

import pytest

from precast.api.http.ranges import ByteRange, NotSatisfiable, read_range


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", None),
        ("bytes=0-9", ByteRange(0, 10)),
        ("bytes=5-", ByteRange(5, 100)),
        ("Bytes= 5-7 ", ByteRange(5, 8)),
        ("bytes=90-900", ByteRange(90, 100)),
        ("bytes=-10", ByteRange(90, 100)),
        ("bytes=-1000", ByteRange(0, 100)),
        ("bytes=99-99", ByteRange(99, 100)),
        # Invalid ranges and several ranges are ignored.
        ("bytes=", None),
        ("bytes=-", None),
        ("bytes=7-5", None),
        ("bytes=0-1,4-5", None),
        ("lines=1-2", None),
        ("bytes=a-b", None),
        ("bytes=1-" + "9" * 30, None),
    ],
)
def test_range_is_read_as_the_specification_says(text: str, part: ByteRange | None) -> None:
    assert read_range(text, 100) == part


@pytest.mark.parametrize(
    ("text", "size"), [("bytes=100-", 100), ("bytes=100-200", 100), ("bytes=-0", 100), ("bytes=0-", 0)]
)
def test_range_outside_the_content_is_not_satisfiable(text: str, size: int) -> None:
    with pytest.raises(NotSatisfiable):
        read_range(text, size)
