# Everything a person does here is one word. `make` alone lists them.
# Override: PYTHON=python3.12, VENV=path, JOBS=4, PYTEST_ARGS="-k lookup".

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTEST_ARGS ?=

BIN := $(VENV)/bin
PY := $(BIN)/python
STAMPS := $(VENV)/.stamps
KERNEL_SOURCES := $(shell find qcore_ext -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.h' 2>/dev/null | grep -v '/_v[0-9]/\|/_base/\|/_asan/')
LINT_PATHS := .

.DEFAULT_GOAL := help
.PHONY: help system-deps venv build demo test lint reliability interop docs errors-doc screenshots drive readme-numbers sweep32 sweep-opencl bench wheel clean distclean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

# ---- set-up: each step leaves a stamp and is redone only when what it depends on has changed ----

system-deps:  ## what the machine itself must have (compiler, Python headers): checked, installed where allowed
	@bash tools/system-deps.sh "$(PYTHON)"

$(STAMPS)/venv:
	@bash tools/system-deps.sh "$(PYTHON)"
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	$(PY) -m pip install --quiet --upgrade pip
	@touch $@

# the build tools first: the editable install below compiles the kernels without an isolated environment, which is
# quicker, and with the NumPy that they will run beside
$(STAMPS)/packages: pyproject.toml $(STAMPS)/venv
	$(PY) tools/requirements.py build run pocl | $(PY) -m pip install --quiet -r /dev/stdin
	@touch $@

$(STAMPS)/dev: $(STAMPS)/packages
	@bash tools/system-deps.sh "$(PYTHON)" gui
	$(PY) tools/requirements.py dev gui | $(PY) -m pip install --quiet -r /dev/stdin
	@touch $@

$(STAMPS)/install: pyproject.toml setup.py $(STAMPS)/packages
	QCORE_BUILD_JOBS=$(JOBS) PYTHONWARNINGS=ignore $(PY) -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

# pip compiles everything each time; this compiles what is older than its source
$(STAMPS)/build: $(KERNEL_SOURCES) $(STAMPS)/install
	QCORE_BUILD_JOBS=$(JOBS) $(PY) setup.py --quiet build_ext --inplace
	@touch $@

build: $(STAMPS)/build  ## the virtual environment, the kernels built, qcore installed from this folder

venv: $(STAMPS)/build $(STAMPS)/dev  ## the same, and what tests, lint and docs need

# ---- use ----

demo: build  ## set up, then quantize the sample weights on every backend here and print the comparison
	$(BIN)/qcore demo

test: venv lint  ## set up, then the whole suite
	$(PY) -m pytest -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

lint: venv  ## ruff, cython-lint, mypy, import contracts
	$(BIN)/ruff check $(LINT_PATHS)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cython-lint $(KERNEL_SOURCES:%.h=)
	$(BIN)/mypy
	$(BIN)/mypy gui
	$(BIN)/lint-imports --no-cache

reliability: venv  ## sanitizers, fuzzing, kill tests: about half an hour on two cores
	PYTHON=$(PY) bash tools/sanitize.sh
	$(PY) tools/requirements.py fuzz | $(PY) -m pip install --quiet -r /dev/stdin
	$(PY) -m pytest -m reliability -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

interop: venv  ## files against Burn itself, built with cargo: about twenty minutes the first time
	QCORE_INTEROP=1 $(PY) -m pytest -m reliability tests/interop $(PYTEST_ARGS)

docs: venv  ## the API reference, from the docstrings, into docs/_build
	$(PY) tools/build_docs.py

errors-doc: venv  ## docs/errors.md, from the catalogue
	$(PY) -m qcore.errors.render docs/errors.md

screenshots: venv  ## the pictures of docs/inspector.md, without a display
	QT_QPA_PLATFORM=offscreen $(PY) tools/screenshots.py

drive: venv  ## the inspector under Xvfb with real keys and a real mouse (needs xvfb and xdotool)
	bash tools/drive_inspector.sh $(PY)

readme-numbers: venv  ## the table of errors in README.md, measured
	$(PY) tools/readme_numbers.py

sweep32: venv  ## every float32 there is through every rounding: hours
	$(PY) tools/sweep32.py

sweep-opencl: venv  ## every float32 there is to fp8 and fp4 on the OpenCL device: an hour
	$(PY) tools/sweep32.py --backend opencl --only e4m3 e5m2 e2m1

bench: build  ## start-up, call overhead, and throughput beside the physical bound and the libraries installed
	$(PY) benchmarks/startup.py
	$(PY) benchmarks/overhead.py
	$(PY) benchmarks/throughput.py

wheel: venv  ## a wheel and a source archive into dist/
	$(PY) -m build --no-isolation

clean:  ## forget what was built, keep the virtual environment
	rm -rf build dist *.egg-info docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf qcore_ext/_v2 qcore_ext/_v3 qcore_ext/_v4 qcore_ext/_base qcore_ext/_asan
	rm -f $(STAMPS)/install $(STAMPS)/build
	find qcore qcore_ext tests -name '__pycache__' -prune -exec rm -rf {} +
	find qcore_ext \( -name '*.so' -o -name '*.c' \) -delete

distclean: clean  ## forget the virtual environment too
	rm -rf $(VENV)
