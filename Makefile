# One line per target; the logic lives in src/setup, data/*.sh and experiments/harness. `make` lists the targets.
BUILD ?= build
SIZE ?=
JOBS ?= $(shell nproc)
PROGRAM := $(BUILD)/paragrad
SIZED = $(if $(SIZE),--size $(SIZE))
HARNESS := python3 experiments/harness --program $(PROGRAM)
PYTHON := src/setup/python.sh
GENERATOR := $(if $(shell command -v ninja),-G Ninja)
BENCHES := bench_training bench_rbm bench_emulation bench_simulator bench_quantisation
MPI_BENCHES := bench_allreduce
export PARAGRAD = $(PROGRAM)
export MNIST_DIR
export FSDD_DIR
export HOURS

.DEFAULT_GOAL := help
.PHONY: help setup build program test torture demo bench gpu-bundle gpu-check calibrate-check experiments timeline report api clean

help: ## list the targets
	@sed -n 's/^\([a-z%<>-]*\):.* ## /\1\t/p;s/^# target \([^:]*\): /\1\t/p' Makefile | \
	  while IFS="$$(printf '\t')" read -r name text; do printf '  %-20s %s\n' "$$name" "$$text"; done

setup: ## install the packages that are missing (apt-get; elsewhere: list them)
	@src/setup/packages.sh

build: $(BUILD)/CMakeCache.txt ## build everything in Release
	@cmake --build $(BUILD) -j $(JOBS)

program: $(BUILD)/CMakeCache.txt ## build the program alone
	@cmake --build $(BUILD) -j $(JOBS) --target paragrad

$(BUILD)/CMakeCache.txt:
	@cmake -S . -B $(BUILD) $(GENERATOR) -DCMAKE_BUILD_TYPE=Release

test: ## set up, build, run every test
	@src/setup/packages.sh pages
	@$(MAKE) --no-print-directory build
	@ctest --test-dir $(BUILD) --output-on-failure -LE bench -j $(JOBS)

torture: build ## every fault at every call on files, in all configurations that tests/faults has (half an hour)
	@PARAGRAD_FAULTS=$(BUILD)/tests/faults/libparagrad_faults.so \
	  PARAGRAD_MPIEXEC=$$(command -v mpiexec) python3 tests/faults/torture.py --all

demo: setup ## the main job in small: emulated workers, the table, real workers beside it
	@$(MAKE) --no-print-directory data-fashion-mnist
	@$(HARNESS) run bmuf_images --size smoke
	@echo; $(HARNESS) compare bmuf_images --size smoke
	@echo; echo "The line nbm-2 again, with two real workers:"
	@$(HARNESS) worlds bmuf_images --size smoke --run nbm-2
	@echo; echo "Look at: experiments/bmuf_images/README.md and, for instance,"
	@ls -d experiments/bmuf_images/runs/smoke/fashion-mnist/nbm-16-s1/*

bench: build ## measure training, allreduce and emulation on this machine
	@for name in $(BENCHES); do \
	  [ ! -x $(BUILD)/tests/bench/$$name ] || { echo "== $$name"; $(BUILD)/tests/bench/$$name || exit 1; }; done
	@for name in $(MPI_BENCHES); do \
	  [ ! -x $(BUILD)/tests/bench/$$name ] || { echo "== $$name"; mpiexec -n 2 $(BUILD)/tests/bench/$$name || exit 1; }; done

gpu-bundle: ## what gpu-check runs, with its libraries, for a machine that lacks them
	@src/setup/gpu_bundle.sh

gpu-check: ## on a machine with a GPU: every CUDA test and figure, in gpu-report.json (from gpu-bundle.tar.gz, if that is there; PARTS)
	@if [ -f gpu-bundle.tar.gz ]; then tar -xzf gpu-bundle.tar.gz; else $(MAKE) --no-print-directory build; fi
	@python3 tests/gpu/check.py --programs $(if $(wildcard gpu-bundle.tar.gz),gpu-bundle,$(BUILD)) --report gpu-report.json $(if $(PARTS),--parts $(PARTS))

calibrate-check: program data-fashion-mnist ## calibrate with 2 ranks, predict trainings, run them, compare (RANKS, UNDER)
	@python3 tests/bench/prediction.py --program $(PROGRAM) --ranks $(or $(RANKS),2) --under "$(UNDER)"

# target data-<name>: make data/<name>.h5 with data/<name>.sh: fashion-mnist, mnist (MNIST_DIR=...), generated, generated-200k, speech-digits (FSDD_DIR=...), speech-synth (HOURS=...), speech-synth-6min, speech-synth-3h
data-%: program
	@data/$*.sh

experiments: program ## verify all experiments (SIZE=smoke, laptop or full)
	@$(HARNESS) verify $(SIZED)

# target run-<name>: run an experiment as far as it has not been run, and print its table (SIZE=smoke, laptop or full)
run-%: program
	@$(HARNESS) run $* $(SIZED)

# target commands-<name>: print its runs as commands for a cluster with MPI (SIZE=full)
commands-%: program
	@$(HARNESS) commands $* $(SIZED)

# target jobs-<name>: write its runs as jobs for Slurm, which go on where they were interrupted (SIZE=full)
jobs-%: program
	@$(HARNESS) jobs $* $(SIZED)

# target predict-<name>: predict their times on PLATFORM=..., beside the measured ones of those that are done (SIZE=full)
predict-%: program
	@$(HARNESS) predict $* $(SIZED) $(if $(PLATFORM),--platform $(PLATFORM))

# target verify-<name>: run it, and check its claims and its recorded values
verify-%: program
	@$(HARNESS) verify $* $(SIZED)

# target record-<name>: run it, and write its values to expected.json
record-%: program
	@$(HARNESS) record $* $(SIZED)

# target tune-<name>: choose its learning rates on the validation set, anew
tune-%: program
	@$(HARNESS) tune $* $(SIZED)

timeline: program ## make runs/timeline, the run that notebooks/06_timeline draws
	@$(PROGRAM) simulate --device meta --model zoo:vgg16 --device-rate 149.7 --train-samples 1000000 --epochs 1 --max-blocks 1 \
	  --max-steps 2 --minibatch 128 --workers 4 --strategy data_parallel --bucket-bytes 64000000 \
	  --platform sim/platforms/p100-aries.toml --timeline --out runs/timeline --overwrite

report: ## write report/index.html: all experiments, their claims and figures, from the runs that are here
	@$(PYTHON) matplotlib -- -c pass 2> /dev/null || src/setup/packages.sh pages
	@$(PYTHON) matplotlib -- experiments/page

api: ## write build/api/html/index.html: what the headers say, by module (Doxygen)
	@command -v doxygen > /dev/null || src/setup/packages.sh pages
	@mkdir -p $(BUILD)
	@{ cat src/setup/Doxyfile; echo 'OUTPUT_DIRECTORY = $(BUILD)/api'; } | doxygen -

clean: ## remove the build folder
	@cmake -E rm -rf $(BUILD)
