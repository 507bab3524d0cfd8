# Every target does its own set-up: a virtual environment in .venv, from requirements.lock.
# Needs Python 3.10 to 3.13 with its venv module, and nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Three tests at a time, on two cores already: most of what a test does is to wait for the server.
PYTEST := $(BIN)/python -m pytest --numprocesses 3 --dist worksteal
UV_VERSION := 0.13.9

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test chaos check lint types format record-histories bench soak lock clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r target what; do \
		printf '  make %-16s %s\n' "$$target" "$$what"; done

# A changed lock means a new environment, so that nothing the lock dropped stays installed.
$(VENV)/.locked: requirements.lock
	@echo "Making the virtual environment $(VENV), which takes a minute or more"
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.locked
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(VENV)/.installed ## Run the example on a dev server: start, approve, finish
	$(BIN)/python -m workers.demo

test: $(VENV)/.installed ## Run the tests
	$(BIN)/python -m tests.support.chromium
	$(PYTEST) -m "not chaos"

chaos: $(VENV)/.installed ## Run what takes too long for `make test`: more of its tests, and of what they draw
	$(BIN)/python -m tests.support.chromium
	$(PYTEST) -m "chaos or hypothesis" --hypothesis-profile thorough

check: lint types ## Run lint and types

lint: $(VENV)/.installed ## Check style and format with ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed ## Check types with pyright, strict on temporal_adapter
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.installed ## Rewrite the code in ruff's format, with its safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

record-histories: $(VENV)/.installed ## Record the histories that later releases must replay (REPLACE=1: anew)
	$(BIN)/python -W ignore -m tests.golden $(if $(REPLACE),--replace)

bench: $(VENV)/.installed ## Compare with a hand-written Temporal workflow, and with MAF's file checkpoints
	$(BIN)/python -m bench
	$(BIN)/python -m bench.checkpoint_bytes

soak: $(VENV)/.installed ## Run 20,000 supersteps and a session of 5,000 inputs to their ends, and see that no cost grows
	$(BIN)/python -m bench.soak

lock: ## Resolve the newest allowed versions into requirements.lock
	$(PYTHON) -m venv .run/lock
	.run/lock/bin/python -m pip --disable-pip-version-check --quiet install uv==$(UV_VERSION)
	.run/lock/bin/uv pip compile pyproject.toml --all-extras --universal --python-version 3.10 --upgrade --quiet \
		--generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links \
		--output-file requirements.lock

clean: ## Remove the environment and everything else that is generated
	rm -rf $(VENV) .run build dist .pytest_cache .ruff_cache .hypothesis bench/results.json
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
