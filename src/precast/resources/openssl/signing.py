"""What certificates and requests share: a file that `openssl req` makes from a private key and a template, once.

The program gets the key on its standard input and a password in its environment, so that neither is on a command line, and prints the
result, which is written as other files are.
"""

import contextlib
import posixpath
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from precast.base import files
from precast.resources import issues, issues_modules, issues_system, properties
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.files import issues as file_issues
from precast.resources.files import parameters, safe_reads, small_files
from precast.resources.properties import ABSENT, PRESENT
from precast.resources.text_files import as_owner

_MODE: Final = 0o644
_VARIABLE: Final = "KEY_PASSWORD"


class SignedFile(Handler):
    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type=resource.type, root=node.root)
        self.path = parameters.path_of(resource)
        self.ensure = properties.one_of(resource, "ensure", (PRESENT, ABSENT))
        self._is_forced = properties.read_boolean(resource, "force")
        properties.one_of(resource, "authentication", ("rsa", "dsa"))
        stem = posixpath.splitext(self.path)[0]
        self._key = self._place("private_key", f"{stem}.key")
        self._template = self._place("template", f"{stem}.cnf")
        password = resource.get("password")
        self._password = None if password is None else str(password)

    def _place(self, name: str, default: str) -> str:
        path = str(self.resource.get(name, default))
        if not path.startswith("/"):
            raise properties.invalid_value(self.resource, name, path, "it is an absolute path")
        return path

    @property
    def is_slow_to_read(self) -> bool:
        return self._is_forced

    def read(self) -> State:
        found = small_files.read_content(self.node, self.path)
        if found is None or (self._is_forced and not self._is_of_key(found.data)):
            return {"ensure": ABSENT}
        return {"ensure": PRESENT}

    def _is_of_key(self, data: bytes) -> bool:
        """Whether a certificate or request has the public key of the private key. Raises InputError RESOURCE-240 if one is invalid."""
        from cryptography.hazmat.primitives import serialization

        try:
            password = None if self._password is None else self._password.encode()
            key = serialization.load_pem_private_key(self._read_key(), password)
            return bool(self.public_key_of(data) == key.public_key())
        except (ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            raise issues_modules.BAD_KEY.error(path=self.path, key=self._key, reason=reason) from None

    def public_key_of(self, data: bytes) -> Any:
        """The public key in the file. Raises ValueError."""
        raise NotImplementedError

    def request_options(self) -> list[str]:
        """The options of `openssl req` for this kind of file."""
        raise NotImplementedError

    def _read_key(self) -> bytes:
        found = small_files.read_content(self.node, self._key)
        if found is None:
            raise file_issues.NO_FILE.error(path=self._key)
        return found.data

    def compare(self, state: State) -> Sequence[Change]:
        if self.ensure is None or state["ensure"] == self.ensure:
            return ()
        return (Change("ensure", state["ensure"], self.ensure, "removed" if self.ensure == ABSENT else "created"),)

    def apply(self, change: Change) -> None:
        if change.desired == ABSENT:
            small_files.remove_file(self.node, self.path)
            return
        template = small_files.read_content(self.node, self._template)
        if template is None:
            raise file_issues.NO_FILE.error(path=self._template)
        former = small_files.read_content(self.node, self.path)
        with self._safe_template(template.data) as path:
            signed = self._sign(path)
        small_files.replace_content(self.node, self.path, signed, former, _MODE, as_owner((0, 0)))

    @contextlib.contextmanager
    def _safe_template(self, data: bytes) -> Iterator[str]:
        """A path at which the program finds the template that was read: one that another user can replace is copied.

        Else that user could put a link there, and the program's errors would quote the link's target.
        """
        node = self.node
        if safe_reads.find_distrust(safe_reads.node_parents(node), self._template) is None:
            yield self._template
            return
        if not node.root:
            files.make_private_directory(Path(node.state_directory))
        with tempfile.TemporaryDirectory(prefix=".precast-", dir=node.root or node.state_directory) as private:
            copy = Path(private, "template")
            files.write_owned(copy, data, 0o600, (-1, -1))
            yield str(copy).removeprefix(node.root)

    def _sign(self, template: str) -> bytes:
        argv = ["openssl", "req", "-config", template, "-new", *self.request_options(), "-key", "/dev/stdin"]
        environment = None
        if self._password is not None:
            argv += ["-passin", f"env:{_VARIABLE}"]
            environment = {_VARIABLE: self._password}
        result = self.node.run(argv, stdin=self._read_key(), environment=environment, is_split=True)
        if not result.is_success:
            reason = " ".join(result.errors.split())[-500:]
            shown = " ".join(argv).replace(template, self._template)
            raise issues_system.COMMAND_FAILED.error(command=shown, code=result.exit_code, output=reason)
        return result.output.encode()
