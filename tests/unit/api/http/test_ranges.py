"""Which part of a content a header asks for."""

import pytest

from precast.api.http.ranges import NotSatisfiable, Part, read_range


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", None),
        ("bytes=0-9", Part(0, 10)),
        ("bytes=5-", Part(5, 100)),
        ("Bytes= 5-7 ", Part(5, 8)),
        ("bytes=90-900", Part(90, 100)),
        ("bytes=-10", Part(90, 100)),
        ("bytes=-1000", Part(0, 100)),
        ("bytes=99-99", Part(99, 100)),
        # What is no range, or several, is passed over.
        ("bytes=", None),
        ("bytes=-", None),
        ("bytes=7-5", None),
        ("bytes=0-1,4-5", None),
        ("lines=1-2", None),
        ("bytes=a-b", None),
        ("bytes=1-" + "9" * 30, None),
    ],
)
def test_range_is_read_as_the_specification_says(text: str, part: Part | None) -> None:
    assert read_range(text, 100) == part


@pytest.mark.parametrize(
    ("text", "size"), [("bytes=100-", 100), ("bytes=100-200", 100), ("bytes=-0", 100), ("bytes=0-", 0)]
)
def test_range_without_a_byte_of_the_content_cannot_be_had(text: str, size: int) -> None:
    with pytest.raises(NotSatisfiable):
        read_range(text, size)
