# Everything a user or contributor types. The first target that needs Python makes .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEMO := .venv/.ready-to-train
DOCS := .venv/.ready-for-docs

.PHONY: docs demo demo-language test test-slow test-numerics test-mutants test-fuzz test-oldest test-wheel sizes check check-types check-rest format bench bench-env bench-sbx-env bench-speed bench-kills bench-learning bench-faults bench-overhead bench-foreign bench-public bench-reliability bench-executor bench-ray bench-replay bench-pages bench-on-policy bench-cloning bench-imitation-env vendor clean help

help:
	@echo "make demo         set up, rescue a collapsed run in about four minutes, write its report"
	@echo "make demo-language fetch a real model (93 MB) and teach it to add, before and after; 20 minutes"
	@echo "make test         set up, check style and types, run the tests"
	@echo "make test-slow    the tests that train for minutes"
	@echo "make test-numerics the tests with other last digits, as other processors compute them"
	@echo "make test-mutants how many small faults, put into what judges runs, the tests notice; hours"
	@echo "make test-fuzz    damaged files for every reader; CASES=200000 for many (default 1000 each)"
	@echo "make test-oldest  the tests with the oldest versions that the package allows; needs an index"
	@echo "make test-wheel   build, twine check, the wheel in empty environments; minutes, needs an index"
	@echo "make sizes        what every extra takes, installed: megabytes, seconds; an hour, needs an index"
	@echo "make check        ruff, format, mypy, import directions"
	@echo "make format       let ruff rewrite"
	@echo "make vendor       build the viewer's vendored JavaScript and compare it (needs Node)"
	@echo "make docs         docs/rules.md, texts and schemas of the package, and the site in build/site with its links checked"
	@echo "make bench        speed, learning, costs and waiting beside every peer, one table; some two hours; QUICK=1: a quarter of an hour; RESUME=1"
	@echo "make bench-kills  a thousand kills over all that writes; hours"
	@echo "make bench-faults the fault bench, an hour on two cores; bench-overhead: what watching costs"
	@echo "make bench-foreign other people's runs: reader, callback, faults; an hour on two cores"
	@echo "make bench-public RUNS=FOLDER LABELS=FILE  our rules on public runs that somebody labelled"
	@echo "make bench-reliability  how often causes named with a confidence are right, over the runs of the benches"
	@echo "make bench-env bench-sbx-env  the peers' virtual environments; then bench-speed and bench-learning (DDPG),"
	@echo "                  bench-on-policy (PPO, TRPO), bench-cloning, bench-replay, bench-executor, bench-ray"
	@echo "make bench-pages  how fast and how modest pages are, TensorBoard beside them; an hour and a half"
	@echo "make clean        remove environments, runs and caches"

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# What training needs and nothing else; developers have it anyway.
$(DEMO): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -e $(READY) || $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train]'
	@touch $@

demo: $(DEMO)
	@$(BIN)/steadyrl rescue ddpg/document --also batch_size=1024 --seeds 3 --output runs/demo

demo-language: $(READY)
	@$(BIN)/steadyrl language fetch smollm2
	@$(BIN)/steadyrl train language/smollm2

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -rs

test-slow: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m slow

test-numerics: $(READY)
	$(BIN)/python -m tests.numerics.run

test-mutants: $(READY)
	$(BIN)/python -m tests.mutants.run

test-fuzz: $(READY)
	$(BIN)/python -m tests.fuzz.run --cases $(or $(CASES),1000)

# Torch comes from constraints.txt: its oldest version is tested where wheels of it can be had.
test-oldest: .venv-oldest/.ready
	.venv-oldest/bin/python -m pytest -n 2 --dist worksteal -q

.venv-oldest/.ready: pyproject.toml constraints-oldest.txt
	@test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e '.[dev]'
	@touch $@

check: $(READY)
	@$(MAKE) --no-print-directory -j 2 check-types check-rest

check-types: $(READY)
	$(BIN)/mypy

check-rest: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

vendor: $(READY)
	$(BIN)/python vendor/build.py

# What the site needs besides what reads runs: no torch.
$(DOCS): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

docs: $(DOCS)
	$(BIN)/python -m website

bench-env: .venv-bench/.ready

.venv-bench/.ready: benchmarks/peers/requirements.txt
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

bench-sbx-env: .venv-sbx/.ready

.venv-sbx/.ready: benchmarks/peers/requirements-sbx.txt
	@test -x .venv-sbx/bin/python || $(PYTHON) -m venv .venv-sbx
	.venv-sbx/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

bench: $(READY) bench-env bench-sbx-env bench-imitation-env
	$(BIN)/python benchmarks/all.py $(if $(QUICK),--quick) $(if $(RESUME),--resume)

bench-kills: $(READY)
	$(BIN)/python benchmarks/kills.py

bench-imitation-env: .venv-imitation/.ready

.venv-imitation/.ready: benchmarks/peers/requirements-imitation.txt
	@test -x .venv-imitation/bin/python || $(PYTHON) -m venv .venv-imitation
	.venv-imitation/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

bench-cloning: $(READY) bench-imitation-env
	$(BIN)/python benchmarks/cloning.py

bench-on-policy: $(READY) bench-env bench-sbx-env
	$(BIN)/python benchmarks/on_policy.py speed
	$(BIN)/python benchmarks/on_policy.py breakout
	$(BIN)/python benchmarks/on_policy.py learning

bench-speed: $(READY) bench-env bench-sbx-env
	$(BIN)/python benchmarks/speed_ddpg.py
	$(BIN)/python benchmarks/speed_ddpg.py --algorithm td3

bench-faults: $(READY)
	$(BIN)/python benchmarks/fault_bench.py --suite ddpg
	$(BIN)/python benchmarks/fault_bench.py --suite on-policy --healthy-seeds 3 --repair-skip 2
	$(BIN)/python benchmarks/fault_bench.py --suite cloning --seeds 1 --healthy-seeds 1 --repair-seeds 0

bench-overhead: $(READY)
	$(BIN)/python benchmarks/overhead_watch.py
	$(BIN)/python benchmarks/overhead_live.py

bench-foreign: $(READY) bench-env
	$(BIN)/python benchmarks/read_events.py
	$(BIN)/python benchmarks/overhead_callback.py
	$(BIN)/python benchmarks/foreign_faults.py

bench-public: $(READY)
	@test -n "$(RUNS)" -a -n "$(LABELS)" || { echo "make bench-public RUNS=FOLDER LABELS=FILE [NAME=of-the-results]"; exit 2; }
	$(BIN)/python benchmarks/public_runs.py --runs $(RUNS) --labels $(LABELS) $(if $(NAME),--name $(NAME))

bench-reliability: $(READY)
	$(BIN)/python benchmarks/reliability.py $(if $(RUNS),--runs $(RUNS) --labels $(LABELS)) $(if $(WRITE),--write)

bench-executor: $(READY)
	$(BIN)/python benchmarks/executor.py

bench-replay: $(READY) bench-env
	$(BIN)/python benchmarks/replay_speed.py

bench-pages: $(READY)
	$(BIN)/python benchmarks/pages.py

bench-ray: $(READY)
	$(BIN)/python benchmarks/ladder_on_ray.py

bench-learning: $(READY) bench-env
	$(BIN)/python benchmarks/learning_ddpg.py

test-wheel: $(READY)
	$(BIN)/python -m tests.wheel.run

sizes: $(READY)
	$(BIN)/python -m tests.wheel.sizes

clean:
	rm -rf .venv .venv-bench .venv-imitation .venv-sbx .venv-oldest runs build dist .mypy_cache .ruff_cache .pytest_cache
