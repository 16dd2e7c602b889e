# Every target sets up what it needs: a machine with Python 3.11+, pip and make is enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PROFILE ?= cpu
OUT ?= reports
JOBS ?= 2
NB ?= 00_quickstart
ROOMS := config stats data models training engine hf rankings erasure measures store viz studies auditing

.DEFAULT_GOAL := help
.PHONY: help setup lab report reports gallery docs test nbval lint lowest calibrate bench clean

help:  ## this list
	@echo "attnlib: is attention an explanation?"
	@echo
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'
	@echo
	@echo "Variables: NB=$(NB)  PROFILE=$(PROFILE)  OUT=$(OUT)  JOBS=$(JOBS)"

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "attnlib needs Python 3.11 or newer; $(PYTHON) is older. Say make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check "$$(grep '^torch==' requirements.txt)"
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

setup: $(READY)  ## virtual environment with everything pinned

lab: $(READY)  ## JupyterLab on the notebooks
	$(BIN)/jupyter lab notebooks

report: $(READY)  ## one report: make report NB=00_quickstart PROFILE=cpu
	$(BIN)/attnlib run $(NB) --profile $(PROFILE) --out $(OUT)

reports: $(READY)  ## every report of the series, and reports/index.html
	$(BIN)/attnlib run all --profile $(PROFILE) --out $(OUT)

gallery: $(READY)  ## the reports as a static site in reports/gallery
	$(BIN)/attnlib gallery $(OUT) reports/gallery --profile $(PROFILE)

docs: $(READY)  ## a reference of the library, from its docstrings, in build/reference
	$(BIN)/pip install --quiet --disable-pip-version-check pdoc==16.0.0
	$(BIN)/python -W ignore -m pdoc --docformat restructuredtext --math -o build/reference $(ROOMS:%=attnlib.%)

test: $(READY)  ## lint, unit tests, notebooks
	$(MAKE) --no-print-directory lint
	ATTNLIB_PROGRESS=0 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
	$(MAKE) --no-print-directory nbval

nbval: $(READY)  ## run every notebook on its own defaults and compare the tagged outputs
	rm -rf .pytest_cache/runs  # nothing answered from a store
	ATTNLIB_STRICT=tests.limits PYTHONPATH=$(CURDIR) ATTNLIB_PROGRESS=0 OMP_NUM_THREADS=1 ATTNLIB_STORE=$(CURDIR)/.pytest_cache/runs $(BIN)/python -m pytest --nbval-lax --nbval-current-env \
	  --nbval-cell-timeout 600 -n $(JOBS) --dist loadfile notebooks

lint: $(READY)  ## ruff over code and notebooks; the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lowest: $(READY)  ## the lowest versions that pyproject.toml allows: install, train, erase, report
	$(BIN)/python -m pytest -m lowest tests/test_setup.py

calibrate: $(READY)  ## the audit's verdicts on models whose truth is known: attnlib/auditing/calibration.csv
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.auditing.calibrate

bench: $(READY)  ## speed, as ratios to the generic path, to Captum and to a loop of the papers' code
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.bench

clean:  ## remove reports and caches of the checkout (not downloads, not finished runs)
	find reports -mindepth 1 -maxdepth 1 -not -name README.md -not -name gallery -exec rm -rf {} +
	rm -rf .pytest_cache .ruff_cache build dist *.egg-info
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
