# The environment is .venv. scripts/set_up.py makes it, without root, from PyPI and npm.

VENV := .venv
BIN := $(VENV)/bin
START := $(shell date +%s)
IS_NEW_ENOUGH = -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p $(IS_NEW_ENOUGH) && command -v $$p && break; done)
SET_UP = @"$(PYTHON)" $(IS_NEW_ENOUGH) || { echo "hybriddp needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python"; exit 1; }; \
	"$(PYTHON)" scripts/set_up.py

# Set up again what was set up for a Python that is gone, and look again for a browser that is named.
$(shell $(BIN)/python $(IS_NEW_ENOUGH) || rm -f $(addprefix $(VENV)/.,demo dev node java chromium))
$(if $(CHROMIUM),$(shell rm -f $(VENV)/.chromium))

export HOME ?= $(CURDIR)/build/home
# Libraries keep to one core: tests run one per core at a time, and benchmarks compare.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
# What was set up comes first; not every shell would read the path of this folder, if it stood in the recipes.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Workers, and every command that a test starts, use the bytecode that is there.
unexport PYTHONDONTWRITEBYTECODE

JS = cd js &&
PYTEST = $(BIN)/python -m pytest
# What draws many times, takes long or starts Spark or a browser is left to test-all, but for representatives.
REST = statistical or slow or spark or browser
UNIT = not (long or $(REST))

# All at once on the cores there are, what each check says in one piece; the first that fails ends it.
TOGETHER = $(MAKE) --no-print-directory -j3 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
TOOK = @echo "make $@ took $$(($$(date +%s) - $(START))) s"

# Every target that is no file.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)
.DEFAULT_GOAL := test

demo: $(VENV)/.demo ## run the main job on bundled data; show the result and a picture
	@$(BIN)/hybriddp demo --plot build/demo.png
	@printf '  A new shell that finds hybriddp (leave it with exit):\n    make shell\n'

shell: $(VENV)/.demo ## open a shell that finds hybriddp and its Python
	@VIRTUAL_ENV="$$PWD/$(VENV)" "$${SHELL:-/bin/sh}" || true

serve: $(VENV)/.dev ## start a curator with a study and simulated people
	@$(BIN)/hybriddp serve --demo

test: $(VENV)/.dev js/dist/hybriddp.js $(VENV)/.java $(VENV)/.chromium ## what to run before a commit: all checks, quick tests, representatives of the others
	@echo "Set-up took $$(($$(date +%s) - $(START))) s"
	@$(TOGETHER) types lint js-types js-test site test-python
	$(TOOK)

test-all: $(VENV)/.dev js/dist/hybriddp.js $(VENV)/.java $(VENV)/.chromium ## what CI runs after make test: the tests that it leaves out, and coverage
	@$(MAKE) --no-print-directory test-rest
	@$(MAKE) --no-print-directory test-coverage
	$(TOOK)

quick: $(VENV)/.dev ## lint, types and the tests that take no time: for the inner loop
	@$(TOGETHER) types lint quick-python
	$(TOOK)

test-long: $(VENV)/.dev $(VENV)/.java $(VENV)/.chromium ## 300 examples per property, and the tests marked long
	HYPOTHESIS_PROFILE=long $(PYTEST) -n auto -m 'long or hypothesis' --durations=20 tests

faults: $(VENV)/.dev ## kill, starve and restart a curator and its database under load (20 minutes)
	$(PYTEST) -s -v -m 'long or slow' tests/service/test_faults.py tests/service/test_faults_rounds.py

mutations: $(VENV)/.dev js/node_modules/.installed ## plant bugs in lines that privacy rests on; see the tests catch each
	$(BIN)/python scripts/mutations.py

check: lint types contracts js-types ## format, lint, types and import contracts

format: $(VENV)/.dev ## put the code into the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.dev ## build the documentation into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

pages: js/node_modules/.installed ## build the scripts of the server's pages, which are in the repository
	$(JS) npm run --silent pages

js: js/dist/hybriddp.js ## build the JavaScript package, js/dist

bench: $(VENV)/.dev ## measure speed, or NAME=…: a program of benchmarks/ with its ARGS
	$(BIN)/python -m benchmarks$(if $(NAME),.$(NAME)) $(ARGS)

vectors: $(VENV)/.dev ## write the conformance vectors anew, after a change to what a channel's bytes mean
	for made in vectors frequency_vectors distribution_vectors protocol_vectors heavy_vectors kmeans_vectors; do \
	  $(BIN)/python scripts/make_$$made.py || exit 1; done

screenshots: $(VENV)/.dev $(VENV)/.chromium ## photograph the server's pages for the documentation
	$(BIN)/python -m scripts.make_screenshots

lock: ## write constraints.txt anew, with the newest versions
	$(SET_UP) lock

clean: ## remove everything made
	rm -rf $(VENV) build dist js/node_modules js/dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The checks that test, quick and check are made of

lint: $(VENV)/.dev
	$(BIN)/ruff format --quiet --check .
	$(BIN)/ruff check --quiet .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(PYTEST) -q tests/test_imports.py tests/test_source.py

js-types: js/node_modules/.installed
	$(JS) npx --no-install tsc

js-test: js/dist/hybriddp.js
	$(JS) node --test --test-reporter=dot test/*.test.js

site: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir build/site

# A + lets the dots of a test run appear as they come, beside the other checks.
test-python: $(VENV)/.dev
	+$(PYTEST) -n auto -q -m 'not long and (representative or ($(UNIT)))'

quick-python: $(VENV)/.dev
	+HYPOTHESIS_PROFILE=quick $(PYTEST) -n auto -q -m '$(UNIT) and not repeated' --ignore=tests/docs --ignore=tests/cli --ignore=tests/service src tests

test-rest: $(VENV)/.dev
	$(PYTEST) -n auto -q -m '($(REST)) and not (long or representative)' tests

test-coverage: $(VENV)/.dev
	$(PYTEST) -n auto -q -m '$(UNIT)' --cov --cov-report=term:skip-covered src tests

# What they need

$(VENV)/.demo: pyproject.toml constraints.txt scripts/set_up.py
	$(SET_UP) demo
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt scripts/set_up.py
	$(SET_UP) dev
	@touch $@ $(VENV)/.demo

$(VENV)/.node: | $(VENV)/.dev
	$(SET_UP) node
	@touch $@

# Some tests need these; where one cannot be had, they are left out and counted.
$(VENV)/.java: | $(VENV)/.dev
	$(SET_UP) java && touch $@ || true

$(VENV)/.chromium: | $(VENV)/.dev $(VENV)/.node
	$(SET_UP) chromium && touch $@ || true

js/node_modules/.installed: js/package.json $(VENV)/.node
	@echo "Setting up js/node_modules …"
	@$(JS) npm install --ignore-scripts --no-package-lock --no-audit --no-fund --prefer-offline --loglevel=error
	@touch $@

js/dist/hybriddp.js: $(wildcard js/src/*.ts js/src/*/*.ts) js/package.json js/node_modules/.installed
	$(JS) npm run --silent build

# Other libraries that benchmarks compare with have environments of their own: they need older versions than ours.
ifneq (,$(filter distribution_accuracy kmeans_peers,$(NAME)))
bench: build/peers/.installed
endif
ifeq ($(NAME),frequency_peers)
bench: build/frequency-peers/.installed
endif
ifeq ($(NAME),frequency_real)
bench: build/data/download-counts.tgz
endif

build/peers/.installed: benchmarks/peers/requirements.txt
build/frequency-peers/.installed: benchmarks/peers/frequency_requirements.txt
build/%/.installed:
	@echo "Setting up $(@D) …"
	@$(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

build/data/download-counts.tgz: $(VENV)/.node
	@mkdir -p $(@D) && cd $(@D) && npm pack --silent download-counts@2.20260301.0 >/dev/null
	@mv $(@D)/download-counts-2.20260301.0.tgz $@
