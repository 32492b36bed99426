"""Removes known secrets from texts that programs, handlers or functions wrote.

The values themselves are redacted where they are known to be secret. This removes them where such a value became part of a text: an
error message, the output of a command, a diff. It also finds the forms in which programs usually repeat a text: JSON, Base64,
hexadecimal, URLs, and quotes of a shell.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

REDACTED = "[redacted]"
# Shorter secrets are not looked for: they are parts of many other texts.
MIN_CHARS = 4
MIN_PART_CHARS = 6
# With more texts than this to look for, nothing of a text is shown.
MAX_FORMS = 20_000
_SEPARATORS = re.compile(r"[\s=:,;'\"()<>\[\]{}]+")


class Scrubber:
    """Replaces some secrets wherever they occur in a text."""

    def __init__(self, secrets: Iterable[str], *, min_chars: int = MIN_CHARS, with_parts: bool = False) -> None:
        """With `with_parts`, the lines and words of each secret are secrets too."""
        forms: set[str] = set()
        for secret in secrets:
            forms.update(form for form in _forms(secret) if len(form) >= min_chars)
            if with_parts:
                forms.update(part for part in _parts(secret) if len(part) >= MIN_PART_CHARS)
        # The longest first: a secret that contains another one is removed as a whole.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))

    def __bool__(self) -> bool:
        return bool(self._forms)

    def narrowed(self, text: str) -> "Scrubber":
        """A scrubber of only those secrets that occur in a text."""
        narrow = Scrubber(())
        narrow._forms = [form for form in self._forms if form in text]
        return narrow

    def scrub(self, text: str) -> str:
        """The text without the secrets."""
        if len(self._forms) > MAX_FORMS:
            return REDACTED
        for form in self._forms:
            if form in text:
                text = text.replace(form, REDACTED)
        return text

    def scrub_value(self, value: Any) -> Any:
        """A value of an event, with the texts in it scrubbed."""
        if isinstance(value, str):
            return self.scrub(value)
        if isinstance(value, list | tuple):
            return [self.scrub_value(item) for item in value]
        if isinstance(value, dict):
            return {self.scrub_value(key): self.scrub_value(item) for key, item in value.items()}
        if value is None or isinstance(value, bool):
            return value
        text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        return value if self.scrub(text) == text else REDACTED


def _forms(secret: str) -> Iterator[str]:
    """The text as it is, and as programs may repeat it."""
    import base64  # runs without a secret, which are most, need none of these
    import json
    from urllib.parse import quote, quote_plus

    yield secret
    yield secret.strip()
    data = secret.encode(errors="surrogateescape")
    for encoded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
        yield encoded.decode()[: len(data) * 8 // 6]  # the last signs depend on the bytes that follow
    yield data.hex()
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
    yield repr(secret)[1:-1]
    yield quote(data, safe="")
    yield quote(data)
    yield quote_plus(data)
    for quoted in ("'\"'\"'", "'\\''", "\\'"):
        yield secret.replace("'", quoted)
    yield secret.replace("\n", "\\n").replace("\t", "\\t").replace('"', '\\"').replace("$", "\\$")


def _parts(secret: str) -> Iterator[str]:
    """The lines and the words of a text: a program may repeat only the part that it complains about."""
    for line in secret.splitlines():
        yield line.strip()
        yield from _SEPARATORS.split(line)
