"""Known secrets are removed from texts, also in the forms in which programs repeat them."""

import pytest

from precast.base.scrubbing import MAX_FORMS, REDACTED, Scrubber


def test_longer_secret_is_removed_before_the_one_it_contains() -> None:
    assert Scrubber(["pass", "password-9"]).scrub("a password-9 b") == f"a {REDACTED} b"


def test_secret_that_is_short_is_not_looked_for() -> None:
    assert Scrubber(["a", "no"]).scrub("a banana, no?") == "a banana, no?"


def test_word_of_a_secret_is_removed_only_with_parts() -> None:
    text = "near 'hunter2x'"
    assert Scrubber(["password = hunter2x"]).scrub(text) == text
    assert Scrubber(["password = hunter2x"], with_parts=True).scrub(text) == f"near '{REDACTED}'"


def test_base64_of_a_text_that_goes_on_is_removed() -> None:
    import base64

    encoded = base64.b64encode(b"hunter2-hunter2 and more").decode()
    assert "aHVudGVyMi1odW50ZXI" not in Scrubber(["hunter2-hunter2"]).scrub(encoded)


def test_values_of_all_kinds_are_scrubbed() -> None:
    value = {"hunter2x": ["hunter2x", b"hunter2x", 12345678, 5, None, True]}
    scrubbed = Scrubber(["hunter2x", "12345678"]).scrub_value(value)
    assert scrubbed == {REDACTED: [REDACTED, REDACTED, REDACTED, 5, None, True]}


@pytest.mark.parametrize("count", [MAX_FORMS])
def test_with_too_many_secrets_nothing_is_shown(count: int) -> None:
    assert Scrubber([f"secret-{number:06}" for number in range(count)]).scrub("harmless") == REDACTED
