# make run    the agent on examples/manifests, endpoints on 127.0.0.1:10255 and 127.0.0.1:10248
# make run-containers  the same on examples/containers, in containers of this machine: see README.md
# make test   every test that this machine can run, in several processes; ARGS="-n0 -k name" runs some in one, ARGS=tests/unit the quick half
# make flakes what became of each test in the last 50 runs of make test: how often it failed, and the slowest
# make check  format, lint, types, layers
# make bench  the numbers of docs/numbers.md
# make simulate  whether a whole node keeps its promises in the histories of some seeds, with each runtime; ARGS="FIRST LAST" or ARGS="--seconds 60"
# make mutants  whether the tests notice the bugs of tests/mutants.toml; ARGS="--since main" or files for some of them
# make mutate FILE=manifests/qos.py  which small changes of a pure module no test notices; ARGS names other tests
# make night  two hours of new seeds, new examples, all mutants, and the tests of the machine again and again; ARGS="--minutes 20"
# make rules  the rules of docs/kubelet-rules.md that no test is marked with
# make docs   the documents as a site, in the folder site; make docs-serve shows it at 127.0.0.1:8000 while one writes
# make install PREFIX=/opt/actorlet, make uninstall, make deb: see docs/installing.md
PYTHON ?= python3
PY := .venv/bin/python
# Many tests wait for something, so there are more processes than cores.
PROCESSES := $(shell echo $$((2 * $$(nproc))))
# Bytecode is kept in any case: each of these processes, and each agent that they start, would compile anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run run-containers test flakes check format cover simulate mutants mutate night rules bench docs docs-serve screenshots proto reference install uninstall deb clean

run: .venv/agent
	$(PY) run.py --runtime hollow --pod-manifest-path examples/manifests --root-dir .venv/state $(ARGS)

run-containers: .venv/agent
	$(PY) run.py --runtime cri --pod-manifest-path examples/containers $(ARGS)

test: .venv/dev
	$(PY) -m pytest -q -n $(PROCESSES) --junitxml="$$($(PY) -m tools.flakes new)" $(ARGS)

flakes: .venv/dev
	@$(PY) -m tools.flakes show $(ARGS)

check: .venv/dev
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	.venv/bin/lint-imports

format: .venv/dev
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

cover: .venv/dev
	$(PY) -m coverage erase
	$(PY) -m coverage run -m pytest -q -n $(PROCESSES) $(ARGS)
	$(PY) -m coverage combine -q
	$(PY) -m coverage report --fail-under=90
	$(PY) -m coverage report --fail-under=98 --include="$$($(PY) -m tools.purity)"

simulate: .venv/dev
	$(PY) -m tests.simulation $(ARGS)

mutants: .venv/dev
	$(PY) -m tools.mutants $(ARGS)

rules: .venv/dev
	@$(PY) -m tools.rules

night: .venv/dev
	CI=true $(PY) -m tools.night $(ARGS)

mutate: .venv/dev
	@$(PY) -m tools.mutate $(FILE) $(ARGS)

bench: .venv/dev
	$(PY) -m benchmarks $(ARGS)

# The module, not the program: so the hook finds our other modules. Never with --quiet: what is not said is not counted as
# an error then. What the theme tells of its makers is none of ours.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build $(ARGS)

docs-serve: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs serve --dev-addr 127.0.0.1:8000 $(ARGS)

screenshots: .venv/dev
	$(PY) -m tools.screenshots

proto: .venv/dev
	$(PY) -m tools.generate_cri

reference: .venv/dev
	$(PY) -m tools.reference
	$(PY) -m tests.environment.oracle.page

# PREFIX, DESTDIR and the like go there as variables of the environment, so that they may have spaces.
install uninstall:
	@$(PYTHON) -m tools.installing $@

# For Debian's own Python, whatever other there is.
deb:
	@/usr/bin/python3 -m tools.installing deb dist

clean:
	rm -rf .venv site dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
	find . -name __pycache__ -prune -exec rm -rf {} +

# An environment of a Python that is too old, or whose making was interrupted, is made anew.
IS_FIT := "import pip, sys, settings.interpreter as it; sys.exit(sys.version_info < it.OLDEST)"

# The three stamps say for which requirements the environment was made; they are made anew when those change.
.venv/agent: requirements.txt constraints.txt
	@$(PY) -c $(IS_FIT) 2>/dev/null || $(PYTHON) -m tools.installing environment .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements.txt
	@$(PY) -m tools.installing wrapper "$(CURDIR)" > .venv/bin/actorlet
	@chmod +x .venv/bin/actorlet
	touch $@

.venv/dev: .venv/agent requirements-dev.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-dev.txt
	touch $@

.venv/docs: .venv/agent requirements-docs.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-docs.txt
	touch $@
