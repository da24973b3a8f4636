# Two commands do everything: `make demo` and `make test`. Each creates .venv when needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-oldest fuzz lint format docs clean

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/bmcg demo --out bmcg-demo --force

test: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist worksteal

# Attacks beyond those of `make test`; what they find is printed, what was run is on a page.
SEED ?= 0
EXAMPLES ?= 100000
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --seed $(SEED) --examples $(EXAMPLES) --record

# The oldest versions that pyproject.toml admits, in an environment of their own.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
	    $$($(PYTHON) tests/oldest.py) && .venv-oldest/bin/python -m pip install --quiet --no-deps -e .
	.venv-oldest/bin/python -m pytest -n auto --dist worksteal

lint: $(STAMP)
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix src tests benchmarks examples
	$(BIN)/ruff format src tests benchmarks examples

# Needs no network; a warning is an error.
docs: $(STAMP)
	$(BIN)/sphinx-build -b html -W -q $(SPHINXOPTS) docs docs/_build
	@echo "docs/_build/index.html"

clean:
	rm -rf $(VENV) .venv-oldest bmcg-demo build dist docs/_build
