# One line per target; the logic is in src/setup, data/*.sh and experiments/harness. `make` lists the targets.
BUILD ?= build
SIZE ?=
JOBS ?= $(shell nproc)
PROGRAM := $(BUILD)/paragrad
MISSING ?=
DATA ?=
SIZED = $(if $(SIZE),--size $(SIZE))
MISSED = $(if $(MISSING),--missing)
ON_DATA = $(if $(DATA),--data '$(DATA)')
HARNESS := python3 experiments/harness --program $(PROGRAM)
PYTHON := src/setup/python.sh
DEMO_RUNS := experiments/bmuf_images/runs/smoke/fashion-mnist
GENERATOR := $(if $(shell command -v ninja),-G Ninja)
BENCHES := bench_training bench_attention bench_rbm bench_emulation bench_simulator bench_quantisation
MPI_BENCHES := bench_allreduce bench_shared_ranks
export PARAGRAD = $(PROGRAM)
export MNIST_DIR
export FSDD_DIR
export CIFAR10_DIR
export CIFAR10_JPEG_DIR
export HOURS

.DEFAULT_GOAL := help
.PHONY: help setup build program python test alone build-times fresh size pins torture fuzz mutants pairs demo bench peers gpu-bundle gpu-check calibrate-check storage-check experiments queue recheck sources cost notebooks report api docs clean

help: ## list the targets
	@sed -n 's/^\([a-z%<>-]*\):.* ## /\1\t/p;s/^# target \([^:]*\): /\1\t/p' Makefile | \
	  while IFS="$$(printf '\t')" read -r name text; do printf '  %-20s %s\n' "$$name" "$$text"; done

setup: ## install missing packages (with apt-get; on other systems, list them)
	@src/setup/packages.sh

build: $(BUILD)/CMakeCache.txt ## build everything in Release mode
	@src/setup/build.sh $(BUILD) $(JOBS)

program: $(BUILD)/CMakeCache.txt ## build only the program
	@src/setup/build.sh $(BUILD) $(JOBS) paragrad

python: $(BUILD)/venv/bin/pytest $(BUILD)/CMakeCache.txt ## build the Python package in BUILD/python and the program, with tools from PyPI in BUILD/venv
	@src/setup/build.sh $(BUILD) $(JOBS) paragrad_python paragrad

$(BUILD)/venv/bin/pytest: src/setup/python_tools.txt
	@src/setup/packages.sh pages
	@$(PYTHON) matplotlib pandas venv -- -m venv --system-site-packages $(BUILD)/venv
	@$(BUILD)/venv/bin/pip install --quiet --disable-pip-version-check -r src/setup/python_tools.txt
	@touch $@

$(BUILD)/CMakeCache.txt:
	@cmake --log-level=NOTICE -S . -B $(BUILD) $(GENERATOR) -DCMAKE_BUILD_TYPE=Release

test: ## install packages, build, run the tests: of the slow ones a fifth, of the smoke experiments a tenth, others for the next commit (ALL=1: all)
	@src/setup/packages.sh pages
	@$(MAKE) --no-print-directory $(BUILD)/venv/bin/pytest || echo "LEFT OUT: the Python package and its tests, whose tools could not be installed"
	@$(MAKE) --no-print-directory build
	@ctest --test-dir $(BUILD) --output-on-failure -LE bench $$(ALL=$(ALL) python3 tests/drawn.py $(BUILD)) -j $$(($(JOBS) + 1))  # one more than cores: some mostly wait

alone: build ## compile every file by itself, without its batch and the precompiled header: each has to include what it uses (minutes)
	@python3 tests/lint/alone.py $(BUILD) --all --jobs $(JOBS)

build-times: ## measure what compiling costs: one by one, in batches, with a precompiled header, with ccache (20 minutes)
	@python3 src/setup/build_times.py

size: ## print the lines of each folder next to its budget
	@python3 tests/lint/size.py

pins: $(BUILD)/venv/bin/pytest ## raise the pinned versions of the tools from PyPI to the newest
	@$(BUILD)/venv/bin/python src/setup/pins.py

fresh: ## run every command and snippet of README, src/python/README and notebooks/README in a fresh clone, as on a new machine
	@python3 tests/fresh.py

torture: build ## disturb trainings at random (LAUNCHES=200), then inject every fault at every file call, in all configurations of tests/faults (an hour or more)
	@PARAGRAD_LAUNCH_TRIALS=$(or $(LAUNCHES),200) python3 tests/app/launch_test.py
	@PARAGRAD_FAULTS=$(BUILD)/tests/faults/libparagrad_faults.so \
	  PARAGRAD_MPIEXEC=$$(command -v mpiexec) python3 tests/faults/torture.py --all

fuzz: ## give the readers a million damaged inputs under sanitizers, and print a table (INPUTS=60000 for each fast reader)
	@cmake --preset sanitize > /dev/null
	@cmake --build --preset sanitize -j $(JOBS)
	@python3 tests/fuzz.py build-sanitize/tests --jobs $(JOBS) $(if $(INPUTS),--inputs $(INPUTS))

mutants: ## put subtle faults into committed code, one at a time, and name those that no test notices (FILES="src/optim sim", N=40, SEED=1, JOBS)
	@python3 tests/mutants/mutants.py $(if $(FILES),--files $(FILES)) -n $(or $(N),40) --seed $(or $(SEED),1) --jobs $(JOBS)

pairs: program ## combine any two features of a training, emulated and in real time: the same weights, or refused (ten minutes)
	@PAIRS=all python3 tests/app/pairs_test.py

demo: setup ## a small example: train with emulated workers, print the table, repeat one run with real workers, draw the curves
	@echo "The first time, this takes about 6 minutes of one core, less on several."
	@$(MAKE) --no-print-directory data-fashion-mnist
	@$(HARNESS) run bmuf_images --size smoke
	@echo; echo "The run nbm-2 again, with two real workers:"
	@$(HARNESS) worlds bmuf_images --size smoke --run nbm-2
	@echo; $(PROGRAM) plot $(DEMO_RUNS)/nbm-16-s1 $(DEMO_RUNS)/ma-16-s1 $(DEMO_RUNS)/sgd-s1 --x time --log-x --out $(DEMO_RUNS)/learning_curves.svg
	@echo "Explained in experiments/bmuf_images/README.md"

bench: build ## measure training, allreduce, emulation and searches on this machine
	@for name in $(BENCHES); do \
	  [ ! -x $(BUILD)/tests/bench/$$name ] || { echo "== $$name"; $(BUILD)/tests/bench/$$name || exit 1; }; done
	@for name in $(MPI_BENCHES); do \
	  [ ! -x $(BUILD)/tests/bench/$$name ] || { echo "== $$name"; mpiexec -n 2 $(BUILD)/tests/bench/$$name || exit 1; }; done
	@echo "== largest_emulation"; python3 tests/bench/largest_emulation.py $(PROGRAM)
	@echo "== search_jobs"; python3 tests/bench/search_jobs.py $(PROGRAM)
	@[ ! -d $(BUILD)/python ] || { echo "== python_strategy"; \
	  PYTHONPATH=$(BUILD)/python $(BUILD)/venv/bin/python tests/bench/python_strategy.py || exit 1; }
	@[ ! -d $(BUILD)/python ] || { echo "== python_compressor"; \
	  PYTHONPATH=$(BUILD)/python $(BUILD)/venv/bin/python tests/bench/python_compressor.py || exit 1; }
	@[ ! -d $(BUILD)/python ] || [ ! -d $(BUILD)/peers ] || { echo "== own_model"; \
	  PYTHONPATH=$(BUILD)/python $(BUILD)/peers/bin/python tests/bench/own_model.py || exit 1; }
	@command -v mpiexec > /dev/null || exit 0; echo "== data_parallel"; \
	  $(firstword $(wildcard $(BUILD)/peers/bin/python) python3) tests/bench/data_parallel.py $(PROGRAM)

peers: $(BUILD)/CMakeCache.txt ## install what bench compares with, PyTorch and scikit-learn, in BUILD/peers (some GB)
	@python3 -m venv $(BUILD)/peers
	@$(BUILD)/peers/bin/pip install --quiet -r tests/bench/peers.txt

gpu-bundle: ## pack the programs of gpu-check and their libraries for a machine that lacks them
	@src/setup/gpu_bundle.sh

gpu-check: ## run every CUDA test and benchmark on a GPU and write gpu-report.json (uses gpu-bundle.tar.gz if it exists; PARTS)
	@if [ -f gpu-bundle.tar.gz ]; then tar -xzf gpu-bundle.tar.gz; else $(MAKE) --no-print-directory build; fi
	@python3 tests/gpu/check.py --programs $(if $(wildcard gpu-bundle.tar.gz),gpu-bundle,$(BUILD)) --report gpu-report.json $(if $(PARTS),--parts $(PARTS))

validation: program ## predict every published measurement that can be expressed without it, and print the errors (PUBLISHED=another folder of rows, EVERY=n-th series, LEARN=1)
	@python3 sim/validation/validate.py --program $(PROGRAM) --jobs $(JOBS) --expected sim/validation/expected.json \
	  $(if $(PUBLISHED),--published $(PUBLISHED)) $(if $(EVERY),--every $(EVERY)) $(if $(LEARN),--learn)

calibrate-check: program data-fashion-mnist ## calibrate with 2 ranks, predict training times, run the trainings, compare (RANKS, UNDER)
	@python3 tests/bench/prediction.py --program $(PROGRAM) --ranks $(or $(RANKS),2) --under "$(UNDER)"

# target data-<name>: make data/<name>.h5 with data/<name>.sh, where <name> is fashion-mnist, kjv, shakespeare (SHAKESPEARE=...), mnist (MNIST_DIR=...), cifar10 (CIFAR10_DIR=...), cifar10-jpeg, cifar10-jpeg-49k (CIFAR10_JPEG_DIR=...), generated, generated-200k, speech-digits (FSDD_DIR=...), speech-synth (HOURS=...), speech-synth-6min, speech-synth-3h, speech-synth-{1,3,10}h-eval1h
data-%: program
	@data/$*.sh

storage-check: program ## train from a disk whose bandwidth a control group limits, and compare with predicted times (root; an idle machine)
	@python3 tests/bench/storage.py --program $(PROGRAM)

experiments: program ## verify all experiments (SIZE=smoke, laptop or full)
	@$(HARNESS) verify $(SIZED)

# target run-<name>: run what is missing of an experiment, and print its table (SIZE=smoke, laptop or full; DATA=a pattern of data sets)
run-%: program
	@$(HARNESS) run $* $(SIZED) $(ON_DATA)

# target commands-<name>: print an experiment's runs as MPI commands for a cluster (SIZE=full)
commands-%: program
	@$(HARNESS) commands $* $(SIZED)

# target jobs-<name>: write an experiment's runs as Slurm jobs that resume after an interruption (SIZE=full)
jobs-%: program
	@$(HARNESS) jobs $* $(SIZED)

# target predict-<name>: predict an experiment's times on PLATFORM=..., and compare with the measured times of finished runs (SIZE=full)
predict-%: program
	@$(HARNESS) predict $* $(SIZED) $(if $(PLATFORM),--platform $(PLATFORM))

# target verify-<name>: run an experiment, and check its claims and recorded values
verify-%: program
	@$(HARNESS) verify $* $(SIZED)

# target record-<name>: run an experiment, and write its values to expected.json (MISSING=1: only runs that are not recorded; DATA)
record-%: program
	@$(HARNESS) record $* $(SIZED) $(MISSED) $(ON_DATA)

# target lock-<name>: write an experiment's claims to claims.lock, to be committed before the runs that judge them
lock-%:
	@$(HARNESS) lock $*

# target judge-<name>: check an experiment's claims against its recorded values, without running anything
judge-%:
	@$(HARNESS) judge $* $(SIZED)

queue: program ## record what is missing or stale in all experiments, most valuable first (CORE_HOURS=1; LIST=1 prints what it would do); it may be killed and started again
	@$(HARNESS) queue --jobs $(JOBS) $(if $(CORE_HOURS),--core-hours $(CORE_HOURS)) $(if $(LIST),--list)

recheck: program ## rerun a few recorded runs of the larger sizes, a different selection for each commit, and compare them with their records (LIST=1: say what is covered)
	@$(HARNESS) recheck $(if $(LIST),--list)

sources: ## write experiments/sources.md, the sources' figures next to our recorded values, and the lines on claims of the experiments' pages
	@$(HARNESS) sources

cost: ## print what the recorded runs of all experiments took, in core-hours
	@$(HARNESS) cost

# target tune-<name>: choose an experiment's learning rates on the validation set (MISSING=1: only trials that are not recorded; DATA)
tune-%: program
	@$(HARNESS) tune $* $(SIZED) $(MISSED) $(ON_DATA)

notebooks: python program ## execute the notebooks and store them with what they show, experiments in the size smoke
	@$(BUILD)/venv/bin/python -c 'import ipykernel, matplotlib, nbclient, pandas' 2> /dev/null || src/setup/packages.sh pages
	@for name in bmuf_images horovod_scaling dbn_mnist async_tradeoff; do $(HARNESS) run $$name --size smoke > /dev/null || exit 1; done
	@PYTHONPATH=$(abspath $(BUILD))/python $(BUILD)/venv/bin/python notebooks/execute.py

report: ## write report/index.html: all experiments with their claims and figures, from the runs found here
	@$(PYTHON) matplotlib -- -c pass 2> /dev/null || src/setup/packages.sh pages
	@$(PYTHON) matplotlib -- experiments/page

api: ## write build/api/html/index.html: the headers' documentation by module (Doxygen)
	@command -v doxygen > /dev/null || src/setup/packages.sh pages
	@mkdir -p $(BUILD)
	@{ cat src/setup/Doxyfile; echo 'OUTPUT_DIRECTORY = $(BUILD)/api'; } | doxygen -

docs: $(BUILD)/docs/bin/mkdocs ## write BUILD/site: all pages as a site with a search, with the notebooks and what `make report` and `make api` have made
	@NO_MKDOCS_2_WARNING=1 $(BUILD)/docs/bin/python src/setup/docs.py $(BUILD)
	@echo "read it with: python3 -m http.server --directory $(BUILD)/site"

$(BUILD)/docs/bin/mkdocs: src/setup/docs_tools.txt
	@src/setup/packages.sh pages
	@python3 -m venv $(BUILD)/docs
	@$(BUILD)/docs/bin/pip install --quiet --disable-pip-version-check -r src/setup/docs_tools.txt
	@touch $@

clean: ## remove the build folder
	@cmake -E rm -rf $(BUILD)
