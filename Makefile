# Everything goes through .venv; `make venv` is idempotent and rebuilds it when the lock changes.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PYTEST := $(BIN)/python -m pytest -q
SHORT := -m "not soak"
# Most tests wait for disks, sockets and processes, so more of them than cores run at once.
PARALLEL := -n 3 --dist worksteal

.PHONY: help venv bytecode demo quick test check unit coverage soak fuzz corpus bench peers lock sbom audit-dependencies docs clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 20

venv: $(READY)  ## .venv with what server, tests and benches need

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Precast needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.11" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@echo "making .venv (about half a minute)"
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	@touch $@

# As an installed package has it: commands then start in a quarter of the time, whatever the environment tells Python.
bytecode: venv
	@$(BIN)/python -m compileall -q src

demo: bytecode  ## every capability, on this machine, in a minute or two
	@$(BIN)/python -m demo

check: venv  ## format, lint, types, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PYTEST) tests/unit/test_architecture.py

quick: bytecode  ## format, lint, types, and the tests nearest to what changed: under a minute
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/quick.py

test: check bytecode  ## check, then every test but the long ones
	$(PYTEST) $(SHORT) $(PARALLEL) --durations=20 tests

unit: bytecode  ## the tests that need no database, network or sleep
	$(PYTEST) -n 2 tests/unit tests/spec

coverage: bytecode  ## which lines unit, spec, component and contract tests reach, as a table
	$(PYTEST) $(SHORT) $(PARALLEL) --cov=precast --cov-report=term:skip-covered tests/unit tests/spec tests/component tests/contract

soak: bytecode  ## the long figures: many crash rounds, many steps
	$(PYTEST) -s -m soak tests

PRECAST_MODULES ?= /usr/share/puppet/modules
corpus: bytecode  ## classes and defines of all modules below PRECAST_MODULES=DIR, compiled by real Puppet and by Precast
	$(BIN)/python -m lab.corpus --modules $(PRECAST_MODULES) $(CORPUS)

FUZZ_SECONDS ?= 60
fuzz: bytecode  ## parsers of foreign bytes, guided by coverage: FUZZ_SECONDS=60 for each; found inputs stay in .fuzz
	@test -d .fuzz/lib || $(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes --no-deps \
	  --target .fuzz/lib -r tests/fuzz/requirements.txt
	PYTHONPATH=.fuzz/lib $(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

bench: bytecode  ## every benchmark in full; figures go to bench/results
	$(BIN)/python -m bench

peers: venv  ## other tools that benches measure beside us, into .venv-peers
	$(PYTHON) -m venv --clear .venv-peers
	.venv-peers/bin/python -m pip install -qq --disable-pip-version-check -r bench/peers.txt

lock: venv  ## lock the newest dependencies, with hashes and without addresses
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --upgrade \
	  --python-version 3.11 --extra server --group dev pyproject.toml -o requirements.lock

sbom: venv  ## the software bills of materials of agent and server (CycloneDX), into dist
	@$(BIN)/python -m tools.sbom

audit-dependencies: venv  ## check the locked packages for known vulnerabilities; fails if the index does not publish them
	@$(BIN)/python -m tools.audit_dependencies

docs: venv  ## write the generated reference
	$(BIN)/python tools/reference.py

clean:  ## remove what make made
	rm -rf .venv .venv-peers .fuzz .mypy_cache .pytest_cache .coverage .ruff_cache .hypothesis dist
