"""A real apt repository of tiny packages, made on the spot."""

import hashlib
import subprocess
import tempfile
from pathlib import Path

# Name, version, what it depends on.
PACKAGES = [
    ("pc-one", "1.0", ""),
    ("pc-one", "1.1", ""),
    ("pc-two", "2.0-1", "pc-one (>= 1.0)"),
    ("pc-three", "3:1.0~rc1", ""),
    ("pc-range", "0.9", ""),
    ("pc-range", "1.5", ""),
    ("pc-range", "2.0", ""),
    ("pc-file", "1.0", ""),
]


def make_repository(place: Path) -> None:
    """Build all packages there, with the index that apt reads."""
    place.mkdir(parents=True)
    index = []
    for name, version, depends in PACKAGES:
        path = place / f"{name}_{version.replace(':', '%3a')}_all.deb"
        _build(path, name, version, depends)
        control = subprocess.run(["dpkg-deb", "-f", path], capture_output=True, text=True, check=True).stdout
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        index.append(f"{control}Filename: ./{path.name}\nSize: {len(data)}\nSHA256: {digest}\n")
    (place / "Packages").write_text("\n".join(index))


def _build(path: Path, name: str, version: str, depends: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "tree"
        (tree / "DEBIAN").mkdir(parents=True, mode=0o755)
        (tree / "etc").mkdir(mode=0o755)
        fields = {
            "Package": name,
            "Version": version,
            "Architecture": "all",
            "Maintainer": "Precast <tests@example.com>",
            "Depends": depends,
            "Description": "a package for tests",
        }
        control = "".join(f"{key}: {value}\n" for key, value in fields.items() if value)
        (tree / "DEBIAN/control").write_text(control)
        (tree / "DEBIAN/conffiles").write_text(f"/etc/{name}.conf\n")
        (tree / f"etc/{name}.conf").write_text(f"{version}\n")
        argv = ["dpkg-deb", "--root-owner-group", "-b", str(tree), str(path)]
        subprocess.run(argv, capture_output=True, check=True)
