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
# The kernel, and every module that decides without doing: held to a higher share of branches.
# tests/unit/project/test_coverage_gate.py looks for modules that are missing here.
PURE := \
    command/answers.py command/event_lines.py command/health_checks.py command/lists.py command/moments.py command/plain_tables.py command/pod_words.py command/reading.py command/reasons.py \
    command/references.py command/selecting.py command/server_names.py command/tables.py command/wording.py command/written.py \
    server/pod_summary.py server/reasons/* \
    command/top/agent_lines.py command/top/connection.py command/top/details.py command/top/help.py command/top/keys.py \
    command/top/lines.py command/top/lists.py command/top/looking.py command/top/pace.py command/top/pages.py command/top/screen.py \
    command/top/state.py \
    kernel/* messages/* manifests/* stores/* settings/* volumes/content/* volumes/payload.py \
    files/keeping/pages.py files/looking/* files/watching/directories.py files/watching/pace.py files/verdicts/judging.py files/verdicts/state.py \
    probes/agenda.py probes/counting.py probes/exchanges.py probes/grpc_exchanges.py probes/http2_frames.py probes/http_answers.py probes/http_requests.py probes/preparing.py probes/specs.py probes/thresholds.py probes/timing.py \
    runtimes/api.py runtimes/container_questions.py runtimes/container_runtime.py runtimes/cri/describing.py runtimes/cri/cgroup_pods.py runtimes/cri/events.py runtimes/cri/figures.py runtimes/cri/health.py runtimes/cri/inventory.py runtimes/cri/rpcs.py runtimes/cri/operations/* runtimes/environment/* \
    runtimes/container_logs/cri_lines.py runtimes/container_logs/layout.py runtimes/container_logs/records.py runtimes/container_logs/rotation.py runtimes/container_logs/tails.py runtimes/container_logs/upkeep.py \
    runtimes/cri/configs/* runtimes/cri/wire/unreachable.py runtimes/cri/disk/tasks.py \
    runtimes/cri/images/auths.py runtimes/cri/images/image_jobs.py runtimes/cri/images/image_operations.py runtimes/cri/images/keyring.py runtimes/cri/images/kubelet_pulls.py runtimes/cri/images/locations.py \
    runtimes/cri/images/options.py runtimes/cri/images/pull_failures.py runtimes/cri/images/pull_queue.py \
    runtimes/cri/images/collecting.py runtimes/cri/images/figures.py runtimes/cri/images/garbage.py \
    runtimes/cri/images/plugin_answers.py runtimes/cri/images/plugin_config.py runtimes/cri/images/pull_records.py \
    runtimes/containers/commands.py runtimes/containers/confidential.py runtimes/containers/container_steps.py runtimes/containers/contents.py \
    runtimes/containers/crash_backoff.py runtimes/containers/exits.py runtimes/containers/failures.py \
    runtimes/containers/hook_notes.py runtimes/containers/hooking.py runtimes/containers/image_names.py runtimes/containers/image_steps.py \
    runtimes/containers/leftovers.py runtimes/containers/learning.py runtimes/containers/clocks.py \
    runtimes/containers/notes.py runtimes/containers/observing.py runtimes/containers/plan.py runtimes/containers/restoring.py \
    runtimes/containers/running_steps.py runtimes/containers/sayings.py \
    runtimes/containers/shape.py runtimes/containers/situation.py runtimes/containers/start_counts.py runtimes/containers/stop_line.py runtimes/containers/stopping.py \
    runtimes/cgroups/amounts.py runtimes/cgroups/container_limits.py runtimes/cgroups/conversions.py \
    runtimes/cgroups/mounts.py runtimes/cgroups/names.py runtimes/cgroups/oom_scores.py runtimes/cgroups/options.py \
    runtimes/cgroups/pod_limits.py runtimes/cgroups/slices.py runtimes/cgroups/writes.py \
    runtimes/hooks/actions.py \
    runtimes/hollow/addresses.py runtimes/hollow/annotations.py runtimes/hollow/behaviour.py \
    runtimes/hollow/behaviours.py runtimes/hollow/commands.py runtimes/hollow/core.py \
    runtimes/hollow/hooks.py runtimes/hollow/images.py runtimes/hollow/inventory.py runtimes/hollow/machine.py \
    runtimes/hollow/questions.py runtimes/hollow/records.py runtimes/hollow/rules.py runtimes/hollow/saved.py runtimes/hollow/saved_lines.py \
    runtimes/hollow/saving.py runtimes/hollow/schedule.py \
    volumes/mounts/empty_dir_sizes.py volumes/mounts/mount_table.py volumes/mounts/propagation.py \
    actors/pods/status_writes.py \
    runtimes/virtual/environment.py runtimes/virtual/following.py runtimes/virtual/listing.py runtimes/virtual/node_reports.py \
    runtimes/virtual/observing.py runtimes/virtual/plan.py runtimes/virtual/pods.py runtimes/virtual/reports.py runtimes/virtual/texts.py \
    sources/listings.py sources/apiserver/pods.py sources/http/bodies.py sources/http/verdicts.py \
    actors/events/forbidden.py actors/events/lines.py actors/events/noted_events.py actors/events/present_state.py actors/events/ring.py actors/events/series.py \
    actors/mirrors/plan.py actors/mirrors/pod.py actors/mirrors/verdicts.py \
    actors/node/conditions.py actors/node/document.py actors/node/facts.py actors/node/labels.py \
    actors/node/lease.py actors/node/observed.py actors/node/operations.py actors/node/ownership.py actors/node/resources.py \
    actors/pods/creation_order.py actors/pods/startup_latency.py actors/pods/launching.py actors/pods/lifecycle.py actors/pods/worker/needed_objects.py \
    actors/pods/worker/object_hooks.py actors/pods/rollouts.py server/change_hook_metrics.py \
    actors/probes/ledger.py actors/probes/sayings.py runtimes/hollow/probing.py runtimes/probing/commands.py runtimes/probing/texts.py \
    actors/pods/pod_events.py actors/pods/pod_records.py actors/pods/record_pages.py actors/pods/resizes.py \
    actors/pods/roster.py actors/pods/roster_steps.py actors/pods/static_names.py actors/pods/worker/probe_reading.py actors/pods/work_times.py \
    actors/pods/admission.py actors/pods/node_fit.py actors/pods/node_view.py actors/pods/preemption.py actors/pods/replacements.py \
    actors/volumes/token_alarms.py actors/volumes/token_records.py actors/volumes/token_requests.py actors/volumes/token_schedule.py \
    actors/volumes/described.py actors/volumes/kept_volumes.py actors/volumes/plan.py actors/volumes/shown_objects.py volumes/making/foreign.py volumes/making/forms.py volumes/making/jobs.py volumes/making/layout.py \
    actors/objects/local_admission.py actors/objects/local_knowledge.py actors/outages.py actors/services/known_services.py \
    kube/errors.py kube/calls/failures.py kube/calls/rate_limit.py kube/calls/request_info.py \
    kube/credentials/access.py kube/credentials/certificates.py kube/credentials/kubeconfig.py \
    kube/credentials/proxies.py kube/streams/failures.py kube/streams/listing.py \
    kube/streams/next_round.py kube/streams/parsing.py kube/streams/queries.py kube/streams/room.py kube/streams/rules.py \
    server/brief_pods.py server/cluster_metrics.py server/container_runtime_metrics.py server/documents.py server/families.py server/health.py \
    agent/takeover_rows.py server/hosts.py server/image_metrics.py server/token_metrics.py server/volume_metrics.py server/volume_pages.py server/limits.py \
    server/ui/paging.py server/ui/pod_table.py server/ui/tables.py \
    server/control/containers.py server/metrics.py server/object_metrics.py server/object_pages.py server/pod_metrics.py server/runtime_shown.py server/pod_pages.py server/pod_stories.py server/probe_pages.py server/verdicts.py
empty :=
comma := ,
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
	$(PY) -m coverage report --fail-under=98 --include='$(subst $(empty) $(empty),$(comma),$(strip $(PURE)))'

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
