# Everything a clone needs goes into .venv, with pip; Python >= 3.11 is the only requirement.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests start processes: what one compiles, the next reads.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo web smoke judges test test-all coverage chromium test-browser test-frontends test-frameworks test-matrix fuzz lint pages docs package audit bench reliability mutate clean

$(VENV)/pip.stamp:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

$(VENV)/demo.stamp: pyproject.toml $(VENV)/pip.stamp
	$(BIN)/python -m pip install --quiet --editable ".[cli,server,client]"
	@touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/demo.stamp
	$(BIN)/python -m pip install --quiet --editable ".[cli,server,client,migrate,testing,bulk,redis,otel]" --group test
	@touch $@

$(VENV)/lint.stamp: pyproject.toml $(VENV)/demo.stamp
	$(BIN)/python -m pip install --quiet --editable ".[cli,server,client,migrate,testing,bulk,redis,otel]" --group lint
	@touch $@

$(VENV)/docs.stamp: pyproject.toml $(VENV)/demo.stamp
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

demo: $(VENV)/demo.stamp
	@$(BIN)/agui-reasoning demo

# Opt-in: asks the providers whose keys are in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …). Each costs
# at most 16,384 output tokens: $0.25 where a million cost $15.
smoke: $(VENV)/demo.stamp
	@$(BIN)/python scripts/smoke.py

# PORT=8000 sets the port; OPEN=1 opens the page in the default browser. Ctrl-C stops it.
web: $(VENV)/demo.stamp
	@$(BIN)/agui-reasoning demo --web $(if $(PORT),--port $(PORT)) $(if $(OPEN),--open)

judges: $(VENV)/test.stamp
	$(BIN)/python scripts/install_node.py
	$(BIN)/python scripts/install_peers.py
	$(BIN)/python scripts/install_redis.py
	$(BIN)/python scripts/install_proxies.py

# Quick run: fixed recordings, a quarter of the examples.
test: judges
	$(BIN)/python -m pytest -n 3 --dist worksteal

# Full run: all recordings, all examples, the slow tests.
test-all: judges
	$(BIN)/python scripts/install_peers.py --all
	$(BIN)/python -m pytest -n 3 --dist worksteal --all $(COVERAGE)

# The same with branch coverage, which takes about twice as long.
coverage:
	$(MAKE) test-all COVERAGE="--cov --cov-report=term"

# The adapters of agent frameworks against the real ones, each in its own environment; FRAMEWORKS="langchain …"
# tests only those.
test-frameworks: $(VENV)/test.stamp
	$(BIN)/python scripts/test_frameworks.py $(FRAMEWORKS)

$(VENV)/matrix.stamp: pyproject.toml $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --group matrix
	@touch $@

# Other Pythons that this machine has, and the lowest versions of the dependencies; ROWS="3.13 lowest" tests only those.
test-matrix: $(VENV)/matrix.stamp
	$(BIN)/python scripts/test_matrix.py $(ROWS)

# Mutates inputs of every decoder and reader by chance, and lists what raised other errors than the library's own.
# GUIDED=5 lets atheris choose the inputs of each target for 5 minutes instead, by what they reach; TARGETS="gemini sse" takes
# only those. atheris is in an environment of its own: there are no wheels of it for every Python.
fuzz: $(if $(GUIDED),build/fuzzing.stamp,$(VENV)/test.stamp)
	$(if $(GUIDED),build/fuzzing,$(VENV))/bin/python scripts/fuzz.py $(foreach one,$(TARGETS),--target $(one)) \
	  $(if $(GUIDED),--guided --minutes $(GUIDED),--count $(or $(CASES),1000000))

build/fuzzing.stamp: pyproject.toml $(VENV)/pip.stamp
	$(PYTHON) -m venv --clear --without-pip build/fuzzing
	$(BIN)/python -m pip --python build/fuzzing install --quiet \
	  --editable ".[cli,server,client,migrate,testing,bulk,redis,otel]" --group test --group fuzz
	@touch $@

$(VENV)/browser.stamp: pyproject.toml $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --group browser
	@touch $@

chromium: $(VENV)/browser.stamp
	$(BIN)/python scripts/install_chromium.py

# The gateway's web page in Chromium.
test-browser: chromium
	$(BIN)/python scripts/install_node.py tests/browser/js
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/browser
	@echo "Screenshots: build/screenshots/"

# Other projects' front ends in Chromium, in front of the gateway.
test-frontends: chromium
	$(BIN)/python scripts/install_node.py tests/browser/js
	$(BIN)/python scripts/install_frontends.py
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/frontends

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/bench.stamp: pyproject.toml $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --editable ".[cli,server,client]" --group bench
	@touch $@

# Prints the table, and writes docs/performance.md. One path: .venv/bin/python -m benchmarks emit --quick
# Then asks of the processor's time that work grows with its input.
bench: $(VENV)/bench.stamp
	$(BIN)/python scripts/install_node.py
	$(BIN)/python -m benchmarks --write
	$(BIN)/python -m pytest --all --cpu-time -m growth tests/unit

# Runs the tests of faults and attacks, then the load, and writes docs/reliability.md; SECTIONS="Faults" writes only
# that section. The load alone: .venv/bin/python scripts/load.py
reliability: judges
	$(BIN)/python scripts/reliability.py $(SECTIONS)
	$(if $(SECTIONS),,$(BIN)/python scripts/load.py)

$(VENV)/mutate.stamp: pyproject.toml $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --group mutate
	@touch $@

# Changes the library by chance, and lists what no test notices; an hour or more. ROOM=crypto, SEED=7, COUNT=20.
mutate: $(VENV)/mutate.stamp judges
	$(BIN)/python scripts/mutate.py $(if $(ROOM),--room $(ROOM)) $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) \
	  $(if $(WRITE),--write)

$(VENV)/release.stamp: pyproject.toml $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --group release
	@touch $@

# The package and what it brings, alone in an environment.
build/release.stamp: pyproject.toml $(VENV)/pip.stamp
	$(PYTHON) -m venv --clear --without-pip build/release
	$(BIN)/python -m pip --python build/release install --quiet ".[cli,server,client]"
	@touch $@

# Builds dist/ with a bill of materials (CycloneDX), and runs what it holds in new environments.
package: $(VENV)/release.stamp build/release.stamp
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
	  --output-file dist/sbom.cdx.json build/release
	$(BIN)/python -m pytest --all tests/package

# Asks for known vulnerabilities of the dependencies, over the network.
audit: $(VENV)/release.stamp build/release.stamp
	$(BIN)/pip-audit --path "$$(echo build/release/lib/python3*/site-packages)"

# Writes the pages and tables that are made of rows, codes and commands; tests compare them.
pages: $(VENV)/test.stamp
	for page in cli errors refusals what_changed; do \
	  $(BIN)/python -m tests.docs.test_$${page}_page || exit 1; done
	$(BIN)/python scripts/explained.py

docs: $(VENV)/docs.stamp
	$(BIN)/python scripts/api_pages.py
	$(BIN)/python scripts/tables.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python scripts/check_site.py

clean:
	rm -rf $(VENV) build site tests/differential/js/node_modules tests/browser/js/node_modules
	rm -rf $(wildcard tests/frontends/*/node_modules tests/frontends/*/build)
	rm -rf examples/web/node_modules examples/web/dist
