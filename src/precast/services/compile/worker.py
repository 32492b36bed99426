"""A compile worker: compiles one version of one environment, in a process of its own that can reach nothing but its pipe.

It reads from standard input and answers on standard output, compiles one node after the other, and requests files when it needs
them. It opens no file, no socket and no database, and the kernel refuses all of these to it. The server that started it limits its
time; a memory limit ends it before it exhausts the machine. Secrets leave it in the catalog alone, where the server replaces them: logs,
errors and problems are scrubbed. `python -I -m precast.services.compile.worker LEVEL MEMORY_BYTES`.
"""

import codecs
import contextlib
import gc
import importlib
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable
from typing import BinaryIO

import msgspec

from precast import lang
from precast.base import digests
from precast.base.confinement.children import ASK, confine_or_exit, write_answer
from precast.base.confinement.confine import Confinement, Level
from precast.base.errors import Kind, PrecastError
from precast.base.frames import read_frame
from precast.catalog.problems import CatalogProblem
from precast.lang.compile import CompileFailure, compile_catalog
from precast.lang.exports import ExportsAnswer
from precast.lang.inputs import ExportedQuery, Inputs
from precast.lang.node_answers import NodeAnswers
from precast.lang.puppetdb.answers import EncodedAnswer
from precast.lang.settings import LogLine, Settings
from precast.lang.values.secret_texts import SecretTexts
from precast.services.compile.messages import (
    Begin,
    Compile,
    Compiled,
    Content,
    ContentRequest,
    Exports,
    ExportsRequest,
    FleetReply,
    FleetRequest,
    FromWorker,
    Refusal,
    ToWorker,
    WorkerFault,
    WorkerRequest,
    decode_to_worker,
    encode_frame,
)
from precast.services.compile.servers_answers import ServersKeys, ServersSecrets
from precast.services.traces.chains import encode_links, make_link
from precast.services.traces.version_files import VersionFiles
from precast.types.catalog_check import check_catalog

# A compile caches what it parsed for the next one. The garbage collector runs only between compiles, and rarely.
COMPILES_BETWEEN_COLLECTIONS = 50
# The exit code of a worker that has reached its memory limit.
OUT_OF_MEMORY = 71
CODECS = ("utf-8-sig", "latin-1", "utf-16", "utf-32", "ascii", "idna", "unicode-escape")
DESCRIPTORS = 32
# Of the text of a fault, after secrets were removed from it.
MAX_FAULT_CHARS = 500


class Worker:
    """Answers the requests of one server."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._settings = Settings()
        self._files = VersionFiles({}, self._fetch)
        self._begin = Begin("", {}, {}, b"", is_strict=False)
        self._compiles = 0
        self._secrets = SecretTexts()

    def run(self) -> None:
        """Answer requests until the server closes the pipe."""
        while (message := self._receive()) is not None:
            try:
                self._handle(message)
            except (MemoryError, EOFError, BrokenPipeError):
                raise
            except Exception as error:  # noqa: BLE001 - the boundary of the process: the server gets the fault, and starts another
                self._send(WorkerFault(self._secrets.scrubber().scrub(_describe_error(error))[:MAX_FAULT_CHARS]))
                return

    def _handle(self, message: ToWorker) -> None:
        match message:
            case Begin():
                self._start(message)
            case Compile():
                self._send(_scrub(self._compile(message), self._secrets))
                self._compiles += 1
                if self._compiles % COMPILES_BETWEEN_COLLECTIONS == 0:
                    gc.collect()
            case _:
                raise ValueError("the server sent an answer that was not requested")

    def _start(self, begin: Begin) -> None:
        self._begin = begin
        strictness = Settings.puppet8() if begin.is_strict else Settings()
        self._settings = msgspec.structs.replace(
            strictness,
            environment=begin.environment,
            missing_module_facts="warning",
            types_without_puppet="error",
            storeconfigs=begin.has_exports,
        )
        self._files = VersionFiles(begin.files, self._fetch)

    def _compile(self, request: Compile) -> Compiled:
        begin = self._begin
        answers = NodeAnswers(
            *(request.node, self._files, begin.constants),
            decryptor=ServersKeys(self._ask),
            exports=_PipeExports(self._ask_exports),
            answer_key=begin.answer_key,
            fleet=_PipeFleet(self._ask_fleet),
            secrets=ServersSecrets(self._ask),
        )
        inputs = Inputs(answers)
        self._secrets = inputs.secrets
        try:
            result = compile_catalog(inputs, self._settings)
        except CompileFailure as failure:
            return _failed(inputs, failure.error, failure.logs, failure.problems)
        try:
            problems = check_catalog(result.body, result.source_map, result.types)
            if result.refused:
                raise result.refused[0]
        except PrecastError as error:
            return _failed(inputs, error, result.logs, result.problems)
        return Compiled(
            _links(inputs),
            _lines(result.logs),
            body=result.body.encoded(),
            source_map=result.source_map.encoded(),
            content=tuple(sorted(set(result.body.content.values()))),
            problems=(*problems, *result.problems),
        )

    def _fetch(self, digest: digests.Digest) -> bytes:
        self._send(ContentRequest(digest))
        match self._receive():
            case Content(data):
                return data
        raise EOFError("the server closed the pipe")

    def _ask_exports(self, question: ExportedQuery) -> ExportsAnswer:
        self._send(ExportsRequest(question))
        match self._receive():
            case Exports(answer):
                return answer
        raise EOFError("the server closed the pipe")

    def _ask_fleet(self, query: str) -> EncodedAnswer:
        self._send(FleetRequest(query))
        match self._receive():
            case FleetReply(answer):
                return answer
        raise EOFError("the server closed the pipe")

    def _ask(self, request: WorkerRequest) -> ToWorker:
        """The server's reply to a request. Raises InputError if the server refuses it for an error of the code."""
        self._send(request)
        reply = self._receive()
        if reply is None:
            raise EOFError("the server closed the pipe")
        if isinstance(reply, Refusal):
            raise PrecastError.of_kind(Kind.INPUT, reply.code, reply.message, reply.hint)
        return reply

    def _receive(self) -> ToWorker | None:
        data = read_frame(self._incoming)
        return None if data is None else decode_to_worker(data)

    def _send(self, message: FromWorker) -> None:
        self._outgoing.write(encode_frame(message))
        self._outgoing.flush()


class _PipeExports:
    """The exports that one compile has asked for: each question is asked once, so that its digest and its list are of one moment."""

    def __init__(self, ask: Callable[[ExportedQuery], ExportsAnswer]) -> None:
        self._ask = ask
        self._known: dict[ExportedQuery, ExportsAnswer] = {}

    def find(self, node: str, question: ExportedQuery) -> ExportsAnswer:
        del node  # the server knows for which node it has requested the compile
        if question not in self._known:
            self._known[question] = self._ask(question)
        return self._known[question]


class _PipeFleet:
    """The queries over the fleet that one compile has asked, each of them once."""

    def __init__(self, ask: Callable[[str], EncodedAnswer]) -> None:
        self._ask = ask
        self._known: dict[str, EncodedAnswer] = {}

    def find(self, node: str, query: str) -> EncodedAnswer:
        del node  # the answer is the same for all nodes of an environment
        if query not in self._known:
            self._known[query] = self._ask(query)
        return self._known[query]


def _describe_error(error: Exception) -> str:
    """An internal error in one line: its text, and where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"


def _failed(
    inputs: Inputs, error: PrecastError, logs: tuple[LogLine, ...], problems: tuple[CatalogProblem, ...]
) -> Compiled:
    return Compiled(_links(inputs), _lines(logs), error=error.render(), code=error.code, problems=problems)


def _scrub(compiled: Compiled, secrets: SecretTexts) -> Compiled:
    """The result without the secrets of the compile in its messages. The catalog has them: the server replaces them."""
    if not (compiled.logs or compiled.error or compiled.problems):
        return compiled
    scrub = secrets.scrubber().scrub
    return msgspec.structs.replace(
        compiled,
        logs=tuple((level, scrub(text)) for level, text in compiled.logs),
        error=None if compiled.error is None else scrub(compiled.error),
        problems=tuple(
            CatalogProblem(problem.code, scrub(problem.text), scrub(problem.hint)) for problem in compiled.problems
        ),
    )


def _links(inputs: Inputs) -> bytes:
    return encode_links(tuple(make_link(read.question, read.answer) for read in inputs.trace))


def _lines(logs: tuple[LogLine, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((line.level, str(line.message)) for line in logs)


def load_everything() -> None:
    """Import all of the language, and the codecs it uses, before the confinement: after it no file can be read."""
    for module in pkgutil.walk_packages(lang.__path__, f"{lang.__name__}."):
        importlib.import_module(module.name)
    for name in CODECS:
        codecs.lookup(name)


def main() -> None:
    """Run the process. Its pipe is moved away from standard input and output, so that nothing else can print into it."""
    incoming, outgoing = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    load_everything()
    wanted = Confinement(
        level=Level(sys.argv[1]), memory_bytes=int(sys.argv[2]), keeps=(incoming, outgoing), descriptors=DESCRIPTORS
    )
    measures = confine_or_exit(wanted)
    if sys.argv[3:] == [ASK]:
        os.dup2(outgoing, 1)
        write_answer(measures)
        return
    gc.disable()
    sys.setrecursionlimit(20_000)
    with (
        os.fdopen(incoming, "rb") as reader,
        os.fdopen(outgoing, "wb") as writer,
        contextlib.suppress(BrokenPipeError, EOFError),
    ):
        try:
            Worker(reader, writer).run()
        except MemoryError:
            # Nothing can be cleaned up without memory: the exit code tells the server.
            os._exit(OUT_OF_MEMORY)


if __name__ == "__main__":
    main()
