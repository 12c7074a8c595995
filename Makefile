# Every target sets up what it needs: a Python 3.11 or newer, make and a package index are enough.

VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.9
# Twice quiet: errors only.
PIP_QUIET := --quiet --quiet --disable-pip-version-check --no-input
INSTALL := $(BIN)/python -m pip $(PIP_QUIET) install --root-user-action=ignore

# Stamps that say what the virtual environment holds; the tools include the runtime.
RUNTIME := $(VENV)/.runtime
TOOLS := $(VENV)/.tools

export PYTHON

.DEFAULT_GOAL := help
.PHONY: help demo test chaos lint bench fmt lock clean
.NOTPARALLEL:

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1|\2/p' Makefile | while IFS='|' read -r target text; do printf '%-12s %s\n' "$$target" "$$text"; done

demo: $(RUNTIME) ## Run one whole mission offline, from goal to signed-off deliverable
	@$(BIN)/interlock demo

test: $(TOOLS) ## Run every test; ARGS="-k approval" narrows
	-@$(BIN)/python -m scripts.system_programs
	@$(BIN)/python -m scripts.run_tests $(ARGS)

# What takes a real network and a real file system away, which only root on Linux may make.
ROOT_ONLY = $(shell [ `uname` = Linux ] && [ `id -u` = 0 ] && echo tests/chaos/namespaces.py)

# Only files: where a folder is named, pytest leaves out the files in it that are named too.
chaos: $(TOOLS) ## Kill, cut off and fill up at every point; half an hour and more
	@TEST_TIMEOUT_S=14400 $(BIN)/python -m pytest -p no:cacheprovider -o faulthandler_timeout=0 -s \
		tests/chaos/test_*.py tests/chaos/doom.py tests/chaos/every_point.py tests/chaos/whole_fleet.py $(ROOT_ONLY) $(ARGS)

lint: $(TOOLS) ## Run every static check and report all faults at once
	@failed=0; \
	$(BIN)/ruff check --output-format concise . || failed=1; \
	$(BIN)/ruff format --check --output-format concise . || failed=1; \
	$(BIN)/mypy || failed=1; \
	$(BIN)/lint-imports --no-logo || failed=1; \
	$(BIN)/python -m scripts.check_sources || failed=1; \
	exit $$failed

bench: $(TOOLS) ## Run the benchmarks
	@$(BIN)/python -m bench $(ARGS)

fmt: $(TOOLS) ## Format the code and mend what can be mended
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

lock: ## Write the lock files anew; ARGS=--upgrade takes newer releases
	@scripts/venv.sh .make/lock
	@.make/lock/bin/python -m pip $(PIP_QUIET) install --root-user-action=ignore uv==$(UV_VERSION)
	@for lock in "requirements.lock --group build" "requirements-dev.lock --group build --group dev"; do \
		set -- $$lock; file=$$1; shift; \
		.make/lock/bin/uv pip compile pyproject.toml "$$@" --generate-hashes --universal --no-header \
			--python-version 3.11 --quiet $(ARGS) -o "$$file" || exit 1; \
	done

clean: ## Remove the virtual environment and every cache
	@rm -rf $(VENV) .make .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

$(RUNTIME): requirements.lock pyproject.toml
	@scripts/venv.sh $(VENV)
	@echo "installing the locked dependencies into $(VENV)"
	@$(INSTALL) --require-hashes -r requirements.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(TOOLS): requirements-dev.lock pyproject.toml
	@scripts/venv.sh $(VENV)
	@echo "installing the locked dependencies and tools into $(VENV)"
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@ $(RUNTIME)
