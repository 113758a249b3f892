# `make help` lists the targets. All of them work in .venv, which is made at the first call and
# made anew only when pyproject.toml or constraints.txt changes.

PYTHON ?= python3
# The number of test processes, each for whole files; one more than the cores of a small machine,
# since tests also wait. Empty runs the tests in one, in order.
AUTOGRADER_TEST_JOBS ?= 3
# More arguments for pytest or the benchmarks, as in `make test ARGS="-k softmax"`.
ARGS ?=

BIN := .venv/bin
# The demo needs no PyTorch; the build and the tests do.
LIGHT := .venv/.installed-dev
FULL := .venv/.installed-dev-torch

.DEFAULT_GOAL := help
.PHONY: help demo test soak lint build release docs bench kinds counts pictures clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## /  make \1	/p' $(MAKEFILE_LIST)
	@echo
	@echo '  PYTHON=python3.12 chooses the Python that makes .venv;'
	@echo '  AUTOGRADER_TEST_JOBS= runs the tests in one process; ARGS="-k softmax" is passed on.'

demo: $(LIGHT) ## grade a synthetic class and say where the pages are
	@$(BIN)/autograder demo $(ARGS)

test: $(FULL) ## run the tests, except the long ones
	@$(BIN)/pytest -q $(if $(AUTOGRADER_TEST_JOBS),-n $(AUTOGRADER_TEST_JOBS) --dist loadfile --no-loadscope-reorder) $(ARGS)

soak: $(FULL) ## run the tests that take minutes, and grade classes of 100, 1,000 and 10,000
	@$(BIN)/pytest -q -m soak $(ARGS)
	@$(if $(ARGS),,$(BIN)/python -m benchmarks.growth)

lint: $(LIGHT) ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

build: $(FULL) ## write source/ and assignments/ from solutions/
	@$(BIN)/autograder build $(ARGS)

release: $(LIGHT) ## lay out in release/ what students get; ARGS="ps1_numpy_attention --to DIR"
	@$(BIN)/autograder release $(ARGS)

docs: $(LIGHT) ## make the site of docs/ in site/; ARGS="--site-dir DIR"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict $(ARGS)

bench: $(FULL) ## run the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

kinds: $(FULL) ## count the kinds of mistakes that are caught and named
	@$(BIN)/python -m benchmarks.kinds $(ARGS)

counts: $(FULL) ## count exercises, cases, misconceptions, questions and facts
	@$(BIN)/python -m benchmarks.counts $(ARGS)

pictures: $(FULL) ## take the pictures of README anew (needs Chromium)
	@$(BIN)/python -m benchmarks.pictures $(ARGS)

clean: ## delete caches and built archives; .venv, submissions and grades stay
	rm -rf build dist site htmlcov .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

$(LIGHT): extras := dev
$(FULL): extras := dev,torch

$(LIGHT) $(FULL): pyproject.toml constraints.txt
	@if ! $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    if ! command -v "$(PYTHON)" >/dev/null 2>&1; then \
	        echo 'There is no command $(PYTHON): install Python 3.11 or newer, or name one with "make PYTHON=/path/to/python3".' >&2; exit 1; \
	    elif ! "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	        echo '$(PYTHON) is older than Python 3.11: name a newer one with "make PYTHON=python3.11".' >&2; exit 1; \
	    elif ! "$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null; then \
	        echo '$(PYTHON) cannot make environments, as its module venv or ensurepip is missing: on Debian and Ubuntu, install the package python3-venv.' >&2; exit 1; \
	    fi; \
	    echo 'Making the environment .venv …'; \
	    "$(PYTHON)" -m venv --clear .venv; \
	fi
	@echo 'Installing into .venv, once: this takes a minute or two …'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[$(extras)]'
	@touch $(LIGHT) $@
