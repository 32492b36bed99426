"""The process that fuzzes one target: `python -m tests.fuzz.child TARGET LIBFUZZER-OPTION…`. It needs atheris, from `make fuzz`."""

import sys

import atheris  # type: ignore[import-untyped]

NAME = sys.argv.pop(1)


def main() -> None:
    with atheris.instrument_imports(include=["precast"], enable_loader_override=False):
        from tests.fuzz.registry import TARGETS
    atheris.Setup(sys.argv, TARGETS[NAME].check)
    atheris.Fuzz()


main()
