"""The option --secrets: the values of secret sources, for a compile without a server."""

import argparse
import hashlib
import hmac
from typing import Any

from precast.base import canonical
from precast.cli import issues
from precast.lang.inputs import ABSENT, DENIED, Answer


class GivenSecrets:
    """Documents by source and path. What the file does not have is absent; a source that it does not have is denied."""

    def __init__(self, sources: dict[str, dict[str, dict[str, Any]]]) -> None:
        self._sources = sources

    def document(self, source: str, path: str) -> Answer:
        if source not in self._sources:
            return DENIED
        return True if path in self._sources[source] else ABSENT

    def answer(self, source: str, path: str, field: str) -> Answer:
        fields = self._sources[source].get(path)
        if fields is None or (field and field not in fields):
            return ABSENT
        # A command keeps no trace that others read, so it has no key.
        return hmac.digest(b"", canonical.encode(self.value(source, path, field)), hashlib.sha256).hex()

    def value(self, source: str, path: str, field: str) -> Any:
        fields = self._sources[source][path]
        return fields[field] if field else fields

    def policy(self) -> str:
        """On this machine there is only a warning; the server of an environment may refuse."""
        return "warn"


def add_secrets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--secrets",
        metavar="FILE",
        help="what secret sources have, as YAML: for each source, each path with its fields (default: no source may be read)",
    )


def read_secrets(args: argparse.Namespace) -> GivenSecrets | None:
    """The secrets of the file that the options name, if they name one. Raises NotFoundError CLI-010, InputError CLI-057."""
    path = getattr(args, "secrets", None)
    if path is None:
        return None
    from precast.base.errors import PrecastError
    from precast.base.spans import Source
    from precast.cli.console.files import read_bytes
    from precast.lang.hiera.data.documents import read_yaml
    from precast.lang.values.base import rich

    try:
        sources = rich(read_yaml(Source("", read_bytes(path).decode())))
    except UnicodeDecodeError:
        raise issues.NOT_SECRETS.error(path=path, reason="it is not UTF-8 text") from None
    except PrecastError as error:
        if issues.NO_FILE.matches(error):
            raise
        raise issues.NOT_SECRETS.error(path=path, reason=error.message) from None
    if not _is_nested(sources, 3):
        raise issues.NOT_SECRETS.error(
            path=path, reason="it must have sources, in each paths, and below each path fields"
        )
    return GivenSecrets(sources)


def _is_nested(value: Any, depth: int) -> bool:
    is_plain = isinstance(value, dict) and "__ptype" not in value
    return is_plain and (depth == 1 or all(_is_nested(item, depth - 1) for item in value.values()))
