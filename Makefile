# SPDX-License-Identifier: MIT
# Everything that is made lies in .venv, build and dist; `make help` lists the targets.

PYTHON ?= /usr/bin/python3
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
BIN := .venv/bin
FUZZ_SECONDS ?= 20
FUZZ_SEED ?= 1
# Of 3.4 4.2 4.5 5.0 5.2; .ci/run takes them all.
BLENDERS ?= 3.4 4.5
MAKEFLAGS += --no-builtin-rules --jobs=$(shell nproc)
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export MMDSKIN_BLENDERS = $(BLENDERS)

CORE := $(wildcard csrc/core/*/*.c)
SOURCES := $(CORE) $(wildcard csrc/gl/*.c csrc/gl/egl/*.c csrc/python/*.c)
ELSEWHERE := $(wildcard csrc/gl/none/*.c csrc/gl/wgl/*.c)
HEADERS := $(wildcard csrc/*.h csrc/*/*.h csrc/*/*/*.h)
GENERATED := build/generated/shaders.h
EXAMPLE := tests/c/example.c
SHARING := tests/c/threads.c
C_TESTS := $(filter-out $(EXAMPLE) $(SHARING),$(wildcard tests/c/*.[ch]))
FUZZERS := model motion pair rig simulation world
C_FILES := $(SOURCES) $(ELSEWHERE) $(HEADERS) $(C_TESTS) $(EXAMPLE) $(SHARING) $(wildcard tests/fuzz/*.[ch])

CFLAGS := -std=c11 -Icsrc -Ibuild/generated -ffp-contract=off -fno-math-errno -fvisibility=hidden \
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wsign-conversion -Werror
SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -DMMD_TEST_MEMORY
# What the files that see GLEW and Python need on top.
GLEW_FLAGS := -isystem build/glew-2.2.0 -isystem build/glew-2.2.0/include
MODULE_FLAGS = $(GLEW_FLAGS) -DPy_LIMITED_API=0x030a0000 \
	-DNPY_TARGET_VERSION=NPY_1_22_API_VERSION -DNPY_NO_DEPRECATED_API=NPY_1_22_API_VERSION \
	$$($(BIN)/python -c 'import numpy, sysconfig; \
	print("-I" + numpy.get_include(), "-I" + sysconfig.get_path("include"))')

.PHONY: build demo test bench coverage wheel wheels addon format check check-windows check-arm check-window check-pythons check-same fuzz clean help
.DELETE_ON_ERROR:
.SECONDARY:

build: build/installed ## Build the module and install it in .venv (the default)

demo: build build/packages-demo ## Build the sample model, skin it, make pictures in build/demo
	PYTHONPATH=tests $(BIN)/python tests/sample/demo.py

test: build build/c/tests $(BLENDERS:%=build/blender-%) build/examples ## Run all tests, those of the add-on in BLENDERS="3.4 4.5"
	$(BIN)/python tests/check/run_tests.py

bench: build addon build/examples ## Measure speed; table and build/bench.json
	$(BIN)/python tests/bench/bench.py

addon: build/addon ## Make the Blender add-on, dist/mmdskin-<version>.zip and one zip for each system
	@ls dist/mmdskin-$(VERSION)*.zip

format: .venv/ready build/packages-check ## Format C and Python sources in place
	clang-format -i $(C_FILES)
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

check: check-format check-compile check-fuzz check-threads check-example build/c/tests build/c/arm/tests ## Format, warnings, C tests with sanitizers
	@echo C tests on ARM
	@qemu-aarch64-static build/c/arm/tests
	@echo C tests here
	@$(BIN)/python tests/check/run_tests.py --c-only

fuzz: FUZZ_SEED = 0
fuzz: check-fuzz ## Feed the core hostile files and rigs for FUZZ_SECONDS a target

clean: ## Remove everything that was made
	rm -rf .venv build dist *.egg-info

help: ## Show this list
	@cat $(MAKEFILE_LIST) | sed -z 's/\\\n[ \t]*//g' | sed -n 's/^\([a-z-]*\):.*## /\1\t/p' | expand -t 15

# Tools: Debian packages, then Python ones.

build/packages-%: tests/check/setup.sh
	@mkdir -p build
	bash tests/check/setup.sh $*
	@touch $@

# One apt-get at a time.
build/packages-check build/packages-demo build/packages-windows: | build/packages-build
build/blender-3.4: | build/packages-demo
$(addprefix build/blender-,$(filter-out 3.4,$(BLENDERS))): | build/blender-3.4

build/blender-%: tests/blender/setup.sh
	@mkdir -p build
	bash $< $*
	@touch $@

build/examples: tests/examples/setup.sh docs/examples/requirements.txt build/packages-build
	bash $< $(PYTHON)
	@touch $@

.venv/ready: tests/check/requirements.txt build/packages-build
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement $<
	@touch $@

# The module

include csrc/platforms/wheels.mk

ADDON_SOURCES := $(filter-out %__pycache__,$(wildcard addon/* addon/*/*.py addon/*/*/*.py addon/*/*.po))
include tests/platforms/check.mk

build/addon: $(ADDON_SOURCES) $(WHEELS)
	$(BIN)/python addon/package.py --split --output dist $(if $(WEBSITE),--website $(WEBSITE)) \
		$(foreach name,$(PLATFORMS),--wheel build/wheels/$(name)/*.whl)
	@touch $@

build/generated/shaders.h: $(wildcard shaders/*) setup.py .venv/ready
	$(BIN)/python setup.py --quiet embed_shaders
	@touch $@

# C on its own: every compiler, and the core under the sanitizers

.PHONY: check-format check-compile check-fuzz check-threads check-example

check-format: .venv/ready build/packages-check
	@echo clang-format, ruff, mypy
	@clang-format --dry-run -Werror $(C_FILES)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary csrc/mmdskin.pyi
	@$(BIN)/mypy --no-error-summary --config-file tests/check/mypy.ini addon

check-compile: $(SOURCES:csrc/%.c=build/c/gcc/%.o) $(SOURCES:csrc/%.c=build/c/clang/%.o) \
	$(patsubst csrc/%.c,build/c/mingw/%.o,$(CORE) $(wildcard csrc/gl/*.c) $(ELSEWHERE))

build/c/gcc/%.o: csrc/%.c $(HEADERS) $(GENERATED) build/glew
	@mkdir -p $(@D)
	@echo gcc $<
	@gcc $(CFLAGS) -O2 $(MODULE_FLAGS) -c $< -o $@

build/c/clang/%.o: csrc/%.c $(HEADERS) $(GENERATED) build/glew build/packages-check
	@mkdir -p $(@D)
	@echo clang $<
	@clang $(CFLAGS) -O2 $(MODULE_FLAGS) -c $< -o $@

build/c/mingw/%.o: csrc/%.c $(HEADERS) $(GENERATED) build/glew build/system-include
	@mkdir -p $(@D)
	@echo mingw $<
	@x86_64-w64-mingw32-gcc $(CFLAGS) -O2 -D__USE_MINGW_ANSI_STDIO=1 -isystem build/system-include \
		$(GLEW_FLAGS) -c $< -o $@

# All that a cross compiler may take from /usr/include.
build/system-include: build/packages-check
	@mkdir -p $@
	@ln -sfn $(addprefix /usr/include/,cglm EGL KHR) $@

# NEON, which QEMU runs anywhere.
build/c/arm/tests: $(CORE) $(HEADERS) $(C_TESTS) build/system-include
	@mkdir -p $(@D)
	@echo gcc, ARM $@
	@aarch64-linux-gnu-gcc $(CFLAGS) -O2 -DMMD_TEST_MEMORY -isystem build/system-include -Itests/c -static \
		$(filter %.c,$^) -lm -o $@

build/c/sanitize/%.o: csrc/%.c $(HEADERS) build/packages-build
	@mkdir -p $(@D)
	@echo gcc, sanitizers $<
	@gcc $(CFLAGS) $(SANITIZE) -c $< -o $@

build/c/tests: $(CORE:csrc/%.c=build/c/sanitize/%.o) $(C_TESTS)
	@echo gcc, sanitizers $@
	@gcc $(CFLAGS) $(SANITIZE) -Itests/c $(filter %.c %.o,$^) -lm -o $@

# The public header, as C and as C++.
check-example: build/c/example build/c/example-c++ build/installed
	@PYTHONPATH=tests $(BIN)/python tests/check/example.py $(filter build/c/%,$^)

build/c/example: $(EXAMPLE) $(CORE:csrc/%.c=build/c/sanitize/%.o)
	@gcc $(CFLAGS) $(SANITIZE) $^ -lm -o $@

build/c/example-c++: $(EXAMPLE) $(CORE:csrc/%.c=build/c/sanitize/%.o)
	@g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -xc++ csrc/mmdskin.h
	@g++ -std=c++20 -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Werror \
		-Icsrc $(SANITIZE) -xc++ $< -xnone $(filter %.o,$^) -lm -o $@

# Threads that share what the core has made, and the OpenGL thread: ThreadSanitizer. Drivers are not
# built with it, so that it cannot see how they lock.

RACE := -O1 -g -fsanitize=thread
export TSAN_OPTIONS := ignore_noninstrumented_modules=1

check-threads: build/c/threads build/c/threads-gl build/fuzz/seeds
	@for program in $(filter build/c/%,$^); do for model in small.pmx leg.pmd; do \
		$$program build/fuzz/seeds/model/$$model build/fuzz/seeds/motion/leg.vmd || exit 1; done; done

build/c/race/%.o: csrc/%.c $(HEADERS) $(GENERATED) build/glew
	@mkdir -p $(@D)
	@echo gcc, threads $<
	@gcc $(CFLAGS) $(RACE) $(GLEW_FLAGS) -c $< -o $@

build/c/threads: $(SHARING) $(CORE:csrc/%.c=build/c/race/%.o)
	@gcc $(CFLAGS) $(RACE) $^ -lm -o $@

build/c/threads-gl: $(SHARING) $(patsubst csrc/%.c,build/c/race/%.o,$(CORE) $(wildcard csrc/gl/*.c csrc/gl/egl/*.c))
	@gcc $(CFLAGS) $(RACE) -DMMD_TEST_GL $^ -ldl -lm -o $@

# The fuzz targets: one file each, and the core compiled once for all.

FUZZ_CORE := $(CORE:csrc/core/%.c=build/fuzz/core/%.o)
FUZZ_FLAGS = $(CFLAGS) $(SANITIZE) -fsanitize=fuzzer-no-link
# clang takes minutes for the vector kernels under the undefined behaviour sanitizer.
$(filter build/fuzz/core/skin/skin_%,$(filter-out %/skin_scalar.o,$(FUZZ_CORE))): \
	FUZZ_FLAGS += -fno-sanitize=undefined

build/fuzz/core/%.o: csrc/core/%.c $(HEADERS) build/packages-check
	@mkdir -p $(@D)
	@echo clang, fuzzers $<
	@clang $(FUZZ_FLAGS) -c $< -o $@

$(FUZZERS:%=build/fuzz/%): build/fuzz/%: tests/fuzz/%.c tests/fuzz/target.c $(FUZZ_CORE) \
		$(wildcard tests/fuzz/*.h)
	@echo clang, fuzzer $<
	@clang $(CFLAGS) $(SANITIZE) -fsanitize=fuzzer $(filter %.c %.o,$^) -lm -o $@

build/fuzz/seeds: tests/fuzz/seeds.py $(wildcard tests/files/*.py) .venv/ready
	@mkdir -p $@
	$(BIN)/python $< $@
	@touch $@

check-fuzz: $(FUZZERS:%=build/fuzz/%-run)

build/fuzz/%-run: build/fuzz/% build/fuzz/seeds
	bash tests/check/fuzz.sh $< $(FUZZ_SECONDS) $(FUZZ_SEED)

# Which lines of the core run in the C tests, the fuzz targets and the tests of the module.

COVER_CORE := $(CORE:csrc/core/%.c=build/coverage/core/%.o)
COVER_FLAGS := -g -fprofile-instr-generate -fcoverage-mapping
COVER := -O1 -DMMD_TEST_MEMORY $(COVER_FLAGS)

coverage: build/coverage/tests $(FUZZERS:%=build/coverage/%) build/coverage/module build/fuzz/seeds ## Show the lines of the core that tests and fuzz targets run
	@$(BIN)/python tests/check/coverage.py build/coverage $(FUZZERS)

build/coverage/core/%.o: csrc/core/%.c $(HEADERS) build/packages-check
	@mkdir -p $(@D)
	@echo clang, coverage $<
	@clang $(CFLAGS) $(COVER) -c $< -o $@

build/coverage/tests: $(COVER_CORE) $(C_TESTS)
	@echo clang, coverage $@
	@clang $(CFLAGS) $(COVER) -Itests/c $(filter %.c %.o,$^) -lm -o $@

$(FUZZERS:%=build/coverage/%): build/coverage/%: tests/fuzz/%.c tests/fuzz/target.c $(COVER_CORE) \
		$(wildcard tests/fuzz/*.h)
	@echo clang, coverage $@
	@clang $(CFLAGS) $(COVER) -fsanitize=fuzzer $(filter %.c %.o,$^) -lm -o $@

build/coverage/module: $(MODULE_SOURCES) build/installed
	@echo clang, coverage $@
	@CC=clang LDSHARED="clang -shared" CFLAGS="$(COVER_FLAGS)" LDFLAGS="$(COVER_FLAGS)" \
		$(BIN)/python setup.py --quiet build_ext --build-lib $@ --build-temp build/coverage/temp
	@touch $@
