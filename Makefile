# make demo    set up, run the main job on bundled data, show the result and a picture
# make test    set up, then everything CI checks: format, lint, types, tests, coverage, documentation
# make check   format, lint and types only        make format   put the code into the project's format
# make docs    build the documentation            make bench    run the benchmarks
# make lock    write constraints.txt anew from the newest versions       make clean   remove everything made
#
# The environment is .venv, made by uv if it is there, else by Python's own venv and pip.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
UV := $(shell command -v uv 2>/dev/null)

ifdef UV
MAKE_VENV = $(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt
else
MAKE_VENV = $(PYTHON) -m venv $(VENV)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
endif

.PHONY: demo test check format docs bench lock clean
.DEFAULT_GOAL := test

demo: $(VENV)/.demo
	@$(BIN)/hybriddp demo --plot build/demo.png

test: check
	$(BIN)/python -m pytest -n auto --cov --cov-report=term-missing:skip-covered
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir build/site

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

bench: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

# The command has to see the newest versions, so it uses an environment of its own.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	build/lock/bin/python -m pip freeze --exclude-editable > constraints.txt

clean:
	rm -rf $(VENV) build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "hybriddp needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python"; exit 1; }
	@$(MAKE_VENV) || { echo "Python's venv module is missing; on Debian run: apt-get install python3-venv"; exit 1; }

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Setting up $(VENV) …"
	@$(INSTALL) -e '.[plots]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Setting up $(VENV) for development …"
	@$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.demo
