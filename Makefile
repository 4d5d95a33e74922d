# Each target works alone on a fresh machine with Python 3.11+: it makes .venv and installs what it needs.
PYTHON ?= python3
# Not to be changed from outside: an unfinished one is removed.
override VENV := .venv
PY    := $(VENV)/bin/python
READY := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install run demo test lint bench chaos clean
MAKEFLAGS += --no-print-directory

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(READY) ## Make .venv with everything in it

run: $(READY) ## Run the whole stack with a demo receiver; stays up until Ctrl-C
	@exec $(PY) manage.py stack --receiver

demo: $(READY) ## Run the demo to its end and print a table
	@$(PY) manage.py demo

test: $(READY) ## Run the whole test suite (ARGS="-k name" narrows it)
	@$(PY) -m pytest $(ARGS)

lint: $(READY) ## Check style, types, import layers, migrations and settings
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check --quiet . || { echo "Not formatted: run $(PY) -m ruff format ."; exit 1; }
	@$(PY) -m mypy .
	@$(VENV)/bin/lint-imports
	@$(PY) manage.py makemigrations --check --dry-run
	@$(PY) manage.py check --fail-level WARNING

bench: $(READY) ## Run the benchmarks (NAME=one runs that one)
	@$(PY) -m bench $(NAME)

chaos: $(READY) ## Kill whatever can be killed and account for every event (SECONDS=600, SEED=1)
	@$(PY) -m tests.chaos --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

clean: ## Stop the embedded services and remove .venv, their data and all caches
	@[ ! -x $(PY) ] || $(PY) -m webhooks_project.embedded remove
	@rm -rf $(VENV) .holdfast staticfiles .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is written last: an install that was cut short starts over in an empty .venv.
$(READY): requirements.txt requirements-tracing.txt requirements-dev.txt constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one with PYTHON=/path/to/python3."; exit 1; }
	@echo "Installing into $(VENV) (once; about a minute) ..."
	@[ -e $@ ] || rm -rf $(VENV)
	@rm -f $@
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@
