"""A source of YAML files on the server: DIRECTORY/ENVIRONMENT/PATH.yaml, with a hash of fields in each.

The files belong to the administrator and not to the code: they never lie in the database or in a repository. A file or directory that
others could read or change is not used.
"""

import asyncio
from pathlib import Path
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.hiera.data.documents import read_yaml
from precast.lang.values.base import Hash, rich
from precast.services.secrets.sources import issues
from precast.services.secrets.sources.private_files import (
    PrivateFileError,
    check_directory,
    is_directory,
    read_private,
)
from precast.services.secrets.sources.source import MAX_DOCUMENT_BYTES, Document


class FileSource:
    """The files of one source. A path was normalised before: it contains no `..`."""

    def __init__(self, name: str, directory: Path) -> None:
        self._name, self._directory = name, directory

    async def read(self, environment: str, path: str) -> Document | None:
        """The document in a file; None if there is no file. Raises UnavailableError SECRET-021."""
        try:
            fields = await asyncio.to_thread(self._read, environment, path)
        except PrivateFileError as error:
            raise issues.SOURCE_FAILED.error(source=self._name, reason=error) from None
        return None if fields is None else Document(fields)

    async def maintain(self) -> None:
        """Files need nothing."""

    def _read(self, environment: str, path: str) -> dict[str, Any] | None:
        directory, *steps = self._directory, environment, *path.split("/")[:-1]
        check_directory(directory)
        for step in steps:
            directory /= step
            if not is_directory(directory):
                return None
        file = directory / f"{path.rpartition('/')[2]}.yaml"
        data = read_private(file, MAX_DOCUMENT_BYTES)
        return None if data is None else _parse(file, data)


def _parse(file: Path, data: bytes) -> dict[str, Any]:
    """The fields of a file. The reason of an error contains nothing of the file but its line."""
    try:
        document = read_yaml(Source("", data.decode("utf-8")))
    except UnicodeDecodeError:
        raise PrivateFileError(f"{file} is not UTF-8 text") from None
    except PrecastError as error:
        raise PrivateFileError(f"{file} is not valid YAML [{error.code}]") from None
    fields = rich(document) if isinstance(document, Hash) else None
    if not isinstance(fields, dict) or "__ptype" in fields:
        raise PrivateFileError(f"{file} is not a hash with texts as keys")
    return fields
