# make run: sets up, prepares the demo project, serves http://127.0.0.1:8501
# make test: sets up (a Chromium and PostgreSQL's programs for the tests included) and runs every test
PYTHON ?= python3
PORT ?= 8501
BIN := .venv/bin
export PYTHONPATH := $(CURDIR)
SUDO := $(shell test "$$(id -u)" = 0 || echo sudo)

PACKAGES := chromium postgresql
NO_SERVER := /etc/postgresql-common/createcluster.d/penumbra.conf

.PHONY: run test check bench screenshots packages clean

run: .venv/ready
	$(BIN)/python -m core demo
	$(BIN)/streamlit run app.py --server.port $(PORT)

test: .venv/dev-ready packages
	$(BIN)/python -m pytest

check: .venv/dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest tests/test_layers.py
	$(BIN)/mypy

bench: .venv/dev-ready packages
	$(BIN)/python -m benchmarks

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Penumbra needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/ready: requirements.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --progress-bar on -r requirements.txt
	touch $@

.venv/dev-ready: requirements-dev.txt requirements-far.txt .venv/ready
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	touch $@

# The tests start a PostgreSQL server of their own from Debian's programs; the one that Debian would start is left out.
packages:
	@command -v chromium >/dev/null && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
	  $(SUDO) mkdir -p $(dir $(NO_SERVER)) && echo 'create_main_cluster = false' | $(SUDO) tee $(NO_SERVER) >/dev/null && \
	  $(SUDO) apt-get update -q && $(SUDO) apt-get install -q -y $(PACKAGES) && $(SUDO) rm $(NO_SERVER); }

# pictures of every page, light and dark, on three screens, in SHOTS; the README's come from them
SHOTS ?= /tmp/penumbra-screenshots
screenshots: .venv/dev-ready packages
	rm -rf $(SHOTS)/home
	PENUMBRA_HOME=$(SHOTS)/home $(BIN)/python -m core demo
	PENUMBRA_HOME=$(SHOTS)/home $(BIN)/python -m benchmarks.screenshots $(SHOTS) --learn --readme

clean:
	rm -rf .venv
