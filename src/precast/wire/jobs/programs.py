"""What a task of a plan does on one node: tests before it, its work, and tests after it.

A program is one value, so that the signer can seal it and a node can verify that it runs exactly what a person has ordered. Values that are
known only while the plan runs (the results of other tasks) are no part of it: they travel as `inputs` beside it, and a command gets them
as data, never as text of its own.
"""

from typing import Annotated, Any, Literal

import msgspec

from precast.base import canonical

MAX_TESTS = 50
MAX_COMMAND_CHARS = 64 * 1024
MAX_FILES = 1_000
MAX_UPLOAD_CHARS = 1024 * 1024

Phase = Literal["pre-test", "task", "post-test"]
Text = Annotated[str, msgspec.Meta(max_length=4_096)]
CommandText = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_COMMAND_CHARS)]
ProgramSeconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class ProgramTest(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="test"):
    """A test. It passes, or it fails with a reason; it changes nothing. It is repeated until it passes for `within_s`."""

    timeout_s: ProgramSeconds = 60.0
    within_s: ProgramSeconds = 0.0


class CommandTest(ProgramTest, frozen=True, omit_defaults=True, tag="command"):
    """Passes if a command of the shell ends with 0."""

    cmd: CommandText = ""


class HttpTest(ProgramTest, frozen=True, omit_defaults=True, tag="http"):
    """Passes if a GET is answered with one of the codes, and the answer contains a text. Redirects are not followed."""

    url: Text = ""
    status: Annotated[list[int], msgspec.Meta(max_length=20)] = []  # none: 200
    contains: Text = ""


class TcpTest(ProgramTest, frozen=True, omit_defaults=True, tag="tcp"):
    """Passes if a connection is accepted."""

    host: Text = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=1, le=65_535)] = 80


class FileTest(ProgramTest, frozen=True, omit_defaults=True, tag="file"):
    """Passes if a path is of a kind, and a regular file contains a text."""

    path: Text = ""
    state: Literal["present", "absent", "file", "directory", "link"] = "present"
    contains: Text = ""


class FactTest(ProgramTest, frozen=True, omit_defaults=True, tag="fact"):
    """Passes if a fact, collected now, has a value; without `equals` if it exists."""

    fact: Text = ""
    equals: Any = None


class ResourceTest(ProgramTest, frozen=True, omit_defaults=True, tag="resource"):
    """Passes if a resource is in sync: a no-op run of it would change nothing."""

    type: Text = ""
    title: Text = ""
    parameters: dict[str, Any] = {}


class CleanTest(ProgramTest, frozen=True, omit_defaults=True, tag="clean"):
    """Passes if a no-op run of the catalog of a manifest, or of a part of the released catalog, would change nothing."""

    work: "CatalogWork | ManifestWork | None" = None


class Work(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="work"):
    """The work of a task."""


class NoWork(Work, frozen=True, tag="none"):
    """Nothing: the task has only tests."""


class ShellWork(Work, frozen=True, omit_defaults=True, tag="shell"):
    """Run a command with /bin/sh. If other tasks take inputs from it (`returns`), the JSON object that it prints is its result."""

    cmd: CommandText
    directory: Text = "/"
    environment: dict[str, str] = {}
    returns: bool = False


class ExecutableWork(Work, frozen=True, omit_defaults=True, tag="executable"):
    """Run a file of the environment, the task of a module. Parameters are JSON on standard input, and variables `PT_name`.

    What it prints, if it is a JSON object, is its result.
    """

    name: Text
    content: Text  # the digest of the file
    parameters: dict[str, Any] = {}
    input: Literal["both", "stdin", "environment"] = "both"


class UploadWork(Work, frozen=True, omit_defaults=True, tag="upload"):
    """Write a file. Without `data`, the text is the input with the name `data`."""

    path: Text
    data: Annotated[str, msgspec.Meta(max_length=MAX_UPLOAD_CHARS)] | None = None
    mode: Text = ""
    directory_mode: Text = ""


class CopiedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of the master, and where it is copied to."""

    source: Text
    target: Text


class CollectWork(Work, frozen=True, omit_defaults=True, tag="collect"):
    """Send files of this node to the content of the server; the result has the digest and the mode of each."""

    paths: Annotated[list[Text], msgspec.Meta(max_length=MAX_FILES)]


class CopyWork(Work, frozen=True, omit_defaults=True, tag="copy"):
    """Write files whose content another node has collected: the input `collected` has the digest and the mode of each source."""

    files: Annotated[list[CopiedFile], msgspec.Meta(max_length=MAX_FILES)]
    mode: Text = ""
    directory_mode: Text = ""


class SyncWork(Work, frozen=True, omit_defaults=True, tag="sync"):
    """Make a directory equal to a source of rsync."""

    source: Text
    target: Text


class RebootWork(Work, frozen=True, omit_defaults=True, tag="reboot"):
    """Reboot the machine; the work is done when its boot id has changed."""


class CatalogWork(Work, frozen=True, omit_defaults=True, tag="catalog"):
    """Apply a part of the released catalog: the resources that have one of the tags or stages, or are contained in one of the classes.

    Without any of them, the whole. The order names the version that was released when the plan started; another one is refused.
    """

    mode: Literal["noop", "enforce"] = "enforce"
    tags: list[Text] = []
    classes: list[Text] = []
    stages: list[Text] = []


class ManifestWork(Work, frozen=True, omit_defaults=True, tag="manifest"):
    """Apply the catalog that the server has compiled for an entry point of the environment. The order names its version."""

    entry: Text
    mode: Literal["noop", "enforce"] = "enforce"


AnyTest = CommandTest | HttpTest | TcpTest | FileTest | FactTest | ResourceTest | CleanTest
AnyWork = (
    NoWork
    | ShellWork
    | ExecutableWork
    | UploadWork
    | CollectWork
    | CopyWork
    | SyncWork
    | RebootWork
    | CatalogWork
    | ManifestWork
)
# What a node does only if its configuration and its policy allow commands, and a person with the role for commands has ordered it.
_COMMANDS = (ShellWork, ExecutableWork, UploadWork, CollectWork, CopyWork, SyncWork, RebootWork)


class TaskProgram(msgspec.Struct, frozen=True, omit_defaults=True):
    """The phases of a task on a node. If the work fails it is repeated `retries` times, after `interval_s` each."""

    task: Text  # the id in its plan
    work: AnyWork
    before: Annotated[list[AnyTest], msgspec.Meta(max_length=MAX_TESTS)] = []
    after: Annotated[list[AnyTest], msgspec.Meta(max_length=MAX_TESTS)] = []
    retries: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0
    interval_s: ProgramSeconds = 1.0

    @property
    def needs_command_right(self) -> bool:
        """Whether it does more than apply catalogs and look."""
        return isinstance(self.work, _COMMANDS) or not all(map(only_looks, (*self.before, *self.after)))

    @property
    def sends_content(self) -> bool:
        """Whether its node may send content: the files that it collects, or output that is too large for lines."""
        return self.needs_command_right


def only_looks(test: AnyTest) -> bool:
    """Whether a test needs no right for commands: it runs nothing, and does not tell what is in a file.

    Whether a file contains a text does tell that, if it is asked again and again, and a node looks as root.
    """
    return isinstance(test, FactTest | CleanTest) or (isinstance(test, FileTest) and not test.contains)


def program_text(program: TaskProgram) -> str:
    """The canonical text of a program, which is sealed and signed."""
    return canonical.encode(msgspec.to_builtins(program)).decode()


def parse_program(text: str) -> TaskProgram:
    """Raises msgspec.MsgspecError."""
    return msgspec.json.decode(text, type=TaskProgram)
