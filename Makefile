# SPDX-License-Identifier: MIT
# All output is in .venv, build and dist; `make help` lists the targets. Targets install what they
# need on Debian and Ubuntu; on other systems they say what is needed.

PYTHON ?= /usr/bin/python3
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
BIN := .venv/bin
FUZZ_SECONDS ?= 12
FUZZ_SEED ?= 1
# Any of 3.4 4.2 4.5 5.0 5.2; .ci/run tests them all.
BLENDERS ?= 3.4 4.5
# Of the tutorial's pictures.
TOUR ?= 5.2
# The one Blender of check-clone.
CLONE_BLENDER ?= 4.5
MAKEFLAGS += --no-builtin-rules --jobs=$(shell nproc 2>/dev/null || echo 4)
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export MMDSKIN_BLENDERS = $(BLENDERS)

include csrc/platforms/flags.mk

CORE := $(wildcard csrc/core/*/*.c)
GL := $(wildcard csrc/gl/*.c csrc/gl/egl/*.c)
SOURCES := $(CORE) $(GL) $(wildcard csrc/python/*.c)
ELSEWHERE := $(wildcard csrc/gl/none/*.c csrc/gl/wgl/*.c)
HEADERS := $(wildcard csrc/*.h csrc/*/*.h csrc/*/*/*.h)
GENERATED := build/generated/shaders.h build/generated/docstrings.h
# What objects need, but for those of the C library, which takes cglm from the system.
BUNDLED := $(GENERATED) build/third_party/complete
EXAMPLES := pose simulate
SHARING := tests/c/threads.c
C_TESTS := $(filter-out $(SHARING),$(wildcard tests/c/*.c))
FUZZERS := mesh model motion pair picture rig simulation state tracks world
C_FILES := $(SOURCES) $(ELSEWHERE) $(HEADERS) $(wildcard tests/c/*.[ch] tests/fuzz/*.[ch] docs/examples/c/*.[ch])

.PHONY: build demo test bench coverage docs tour wheel wheels addon addon-dev library install format check \
	check-windows check-arm check-musl check-window check-pythons check-same check-clone check-sdist sdist rehearsal fuzz fuzz-nightly \
	fuzz-keep clean help
.DELETE_ON_ERROR:
.SECONDARY:

build: build/installed ## Build the module and install it in .venv (the default)

demo: build build/packages-demo ## Skin the sample model and draw pictures in build/demo
	PYTHONPATH=tests $(BIN)/python tests/sample/demo.py

test: build build/c/tests $(BLENDERS:%=build/blender-%) build/examples ## Run all tests; the add-on's in BLENDERS="3.4 4.5"
	$(BIN)/python tests/check/run_tests.py

bench: build addon build/examples ## Measure speed: a table and build/bench.json
	$(BIN)/python tests/bench/bench.py

addon: build/addon ## Build the Blender add-on: dist/mmdskin-<version>.zip and one zip per system
	@ls dist/mmdskin-$(VERSION)*.zip

tour: build build/blender-3.4 ## Click through the tutorial in TOUR=5.2 or 3.4 and renew its pictures, tests/sample/pictures
	bash tests/blender/window.sh $(filter-out 3.4,$(TOUR))
	MMDSKIN_TOUR=$(TOUR) MMDSKIN_BLENDERS=$(TOUR) $(BIN)/python -m pytest -q tests/blender/test_blender.py -k tutorial
	for name in install import live motion physics rendered bake export; do \
		convert build/blender/tour/[0-9][0-9]-$$name.png -dither None -colors 64 \
			PNG8:tests/sample/pictures/$$name.png || exit; done

docs: build/installed build/site/ready ## Build the documentation as a site, build/site/html; WEBSITE=https://... links to the repository
	WEBSITE=$(WEBSITE) $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs/site docs build/site/html

build/site/ready: docs/site/requirements.txt .venv/ready
	@mkdir -p $(@D)
	$(BIN)/pip install --quiet --requirement $<
	@touch $@

addon-dev: build/wheel ## Link the add-on into a Blender for development: BLENDER_FOLDER=~/.config/blender/4.5
	$(BIN)/python tests/blender/link_addon.py build/wheels/own/*.whl $(BLENDER_FOLDER)

format: .venv/ready build/packages-check ## Format C and Python sources in place
	clang-format -i $(C_FILES)
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

check: check-format check-compile check-fuzz check-threads check-library build/c/tests build/c/tests-arm ## Format, types, warnings, C tests with sanitizers and on ARM, fuzzers
	@echo C tests on ARM
	@qemu-aarch64-static build/c/tests-arm
	@echo C tests here
	@$(BIN)/python tests/check/run_tests.py --c-only

check-clone: build build/blender-$(CLONE_BLENDER) ## Run the tests that need only the repository, not the published models
	$(BIN)/python tests/check/run_tests.py --without-models $(CLONE_BLENDER)

check-sdist: sdist ## Build from the source distribution alone, without a network, and import the result
	rm -rf build/sdist
	$(BIN)/pip wheel --quiet --no-build-isolation --no-deps --no-index --no-cache-dir --wheel-dir build/sdist \
		dist/mmdskin-$(VERSION).tar.gz
	$(BIN)/pip install --quiet --no-deps --no-index --target build/sdist/module build/sdist/*.whl
	cd build/sdist && PYTHONPATH=module ../../$(BIN)/python -c \
		'import mmdskin; assert "sdist" in mmdskin.__file__; print(mmdskin.__version__, mmdskin.backends())'

rehearsal: build wheels check-sdist addon build/rehearsal/ready build/blender-$(CLONE_BLENDER) ## Check all that a release uploads as PyPI, Blender and conda-forge do; WEBSITE=https://...
	MMDSKIN_BLENDERS=$(CLONE_BLENDER) build/rehearsal/bin/python tests/check/rehearsal.py

build/rehearsal/ready: tests/check/rehearsal.txt .venv/ready
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --requirement $<
	command -v npm >/dev/null || bash tests/check/setup.sh node
	npm install --silent --prefix $(@D) gltf-validator@2.0.0-dev.3.10
	@touch $@

fuzz: FUZZ_SEED = 0
fuzz: check-fuzz ## Feed hostile files and scripts to the core, FUZZ_SECONDS per fuzzer

fuzz-nightly: ## The same for an hour of one core in all, and keep what was found
	$(MAKE) fuzz FUZZ_SECONDS=360
	$(MAKE) fuzz-keep

fuzz-keep: $(FUZZERS:%=build/fuzz/%) build/fuzz/seeds ## Pack what the fuzzers have found, minimized, in tests/fuzz/corpus
	bash tests/check/fuzz.sh keep $(filter-out %/seeds,$^)

clean: ## Remove all output
	rm -rf .venv build dist *.egg-info

help: ## Show this list
	@cat $(MAKEFILE_LIST) | sed -z 's/\\\n[ \t]*//g' | sed -n 's/^\([a-z_.-]*\):.*## /\1\t/p' | expand -t 23

# Set-up: Debian packages, then Python packages and third-party sources.

build/packages-%: tests/check/setup.sh
	@mkdir -p build
	bash tests/check/setup.sh $*
	@touch $@

build/blender-%: tests/blender/setup.sh
	@mkdir -p build
	bash $< $*
	@touch $@

# GLEW's source, cglm and EGL's headers, from apt's mirror if they have to be downloaded.
build/third_party/complete: csrc/platforms/third_party.py build/packages-build
	@rm -rf $(@D)
	$(PYTHON) $< $$(apt-get indextargets --format '$$(REPO_URI)' 2>/dev/null | sort -u)

build/examples: tests/examples/setup.sh $(wildcard docs/examples/*.txt) build/packages-build
	bash $< $(PYTHON)
	@touch $@

.venv/ready: tests/check/requirements.txt build/packages-build
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement $<
	@touch $@

# The module

include csrc/platforms/wheels.mk

ADDON_SOURCES := $(filter-out %__pycache__,$(wildcard addon/* addon/*/*.py addon/*/*/*.py addon/*/*.po addon/*/*.txt))

build/addon: $(ADDON_SOURCES) $(BLENDER_WHEELS)
	$(BIN)/python addon/package.py --split --output dist $(if $(WEBSITE),--website $(WEBSITE)) \
		$(foreach name,$(BLENDER_PLATFORMS),--wheel build/wheels/$(name)/*.whl)
	@touch $@

build/generated/docstrings.h: build/generated/shaders.h

build/generated/shaders.h: $(wildcard shaders/*) csrc/mmdskin/__init__.pyi csrc/platforms/docstrings.py setup.py .venv/ready
	$(BIN)/python setup.py --quiet embed_texts
	@touch $(GENERATED)

# Objects: build/objects/KIND/a.o is a.c, compiled as that kind is. Headers are found by -MMD.

KINDS := gcc clang mingw arm windows musl library shared sanitize race fuzz coverage
BASE_FLAGS := $(LANGUAGE_FLAGS) $(WARNING_FLAGS) -Werror $(INCLUDE_FLAGS) -Itests/c
SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -DMMD_TEST_FAULTS
RACE := -O1 -g -fsanitize=thread
COVER_FLAGS := -g -fprofile-instr-generate -fcoverage-mapping
ZIG = $(CROSS_BIN)/python -m ziglang

CC_gcc := gcc
FLAGS_gcc := $(RELEASE_FLAGS) $(PYTHON_FLAGS) @build/python-includes
NEEDS_gcc := build/python-includes
CC_clang := clang
FLAGS_clang := $(FLAGS_gcc)
NEEDS_clang := build/python-includes build/packages-check
CC_mingw := x86_64-w64-mingw32-gcc
FLAGS_mingw := $(RELEASE_FLAGS) -D__USE_MINGW_ANSI_STDIO=1
NEEDS_mingw := build/packages-check
CC_arm := aarch64-linux-gnu-gcc
FLAGS_arm := $(RELEASE_FLAGS) -DMMD_TEST_FAULTS
NEEDS_arm := build/packages-check
CC_windows = $(ZIG) cc -target x86_64-windows-gnu
FLAGS_windows := $(RELEASE_FLAGS) -DMMD_TEST_FAULTS
NEEDS_windows := build/cross/venv/ready
CC_musl = $(ZIG) cc -target x86_64-linux-musl
FLAGS_musl := $(RELEASE_FLAGS) -DMMD_TEST_FAULTS
NEEDS_musl := build/cross/venv/ready build/packages-check
CC_library = $(CC)
FLAGS_library = $(RELEASE_FLAGS) -fPIC $(CGLM_FLAGS)
CC_shared = $(CC)
FLAGS_shared = $(FLAGS_library) -DMMD_BUILD_SHARED
CC_sanitize := gcc
FLAGS_sanitize := $(SANITIZE)
CC_race := gcc
FLAGS_race := $(RACE)
CC_fuzz := clang
FLAGS_fuzz = $(SANITIZE) -fsanitize=fuzzer-no-link
NEEDS_fuzz := build/packages-check
CC_coverage := clang
FLAGS_coverage := -O1 -DMMD_TEST_FAULTS $(COVER_FLAGS)
NEEDS_coverage := build/packages-check

# $(call objects,KIND,SOURCES)
objects = $(patsubst %.c,build/objects/$(1)/%.o,$(filter %.c,$(2)))

define kind_rule
build/objects/$(1)/%.o: %.c csrc/platforms/flags.mk | $(if $(filter library shared,$(1)),,$(BUNDLED)) $(NEEDS_$(1))
	@mkdir -p $$(@D)
	@echo $(1) $$<
	@$$(CC_$(1)) $$(BASE_FLAGS) $$(FLAGS_$(1)) -MMD -MP -c $$< -o $$@
endef
$(foreach kind,$(KINDS),$(eval $(call kind_rule,$(kind))))
-include $(shell find build/objects -name '*.d' 2>/dev/null)

# clang takes minutes for the vector kernels under the undefined behavior sanitizer.
$(foreach set,sse2 avx2 avx512 neon,build/objects/fuzz/csrc/core/skin/skin_$(set).o): \
	FLAGS_fuzz += -fno-sanitize=undefined

# More inputs a second: unrolled loops, and comparisons of numbers, from which libFuzzer learns
# nothing, are not traced.
build/objects/fuzz/csrc/core/physics/%.o: FLAGS_fuzz += -O2 -fno-sanitize-coverage=trace-cmp

build/python-includes: .venv/ready
	@$(BIN)/python -c 'import numpy, sysconfig; \
		print("-I" + numpy.get_include(), "-I" + sysconfig.get_path("include"))' >$@

compile_commands.json: tests/check/compile_commands.py Makefile csrc/platforms/flags.mk build/python-includes $(GENERATED) ## Record how each C file is compiled, for clangd and other tools
	@$(BIN)/python $< "gcc $(BASE_FLAGS) $(RELEASE_FLAGS) $(PYTHON_FLAGS) $$(cat build/python-includes)" \
		$(filter %.c,$(C_FILES)) >$@

# The C library: needs a C compiler and cglm's headers, nothing else.

PREFIX ?= /usr/local
# As files name it that other projects read; with spaces it is several words to make.
space := $(subst ,, )
override PREFIX := $(subst ?,$(space),$(abspath $(subst $(space),?,$(PREFIX))))
INTO = "$(DESTDIR)$(PREFIX)"
MINOR_VERSION := $(shell echo $(VERSION) | cut -d. -f1,2)
# Structs may change with the minor version, so it is in the name that programs load.
SONAME := libmmdskin.so.$(MINOR_VERSION)
CGLM_FLAGS = $(shell pkg-config --cflags cglm 2>/dev/null)

library: build/libmmdskin.a build/libmmdskin.so ## Build the C library, build/libmmdskin.a and build/libmmdskin.so
	@ls $^

build/libmmdskin.a: $(call objects,library,$(CORE))
	@rm -f $@
	@$(AR) rcsD $@ $^

build/libmmdskin.so: $(call objects,shared,$(CORE))
	@$(CC) -shared -Wl,-soname,$(SONAME) -Wl,-z,relro,-z,now $^ -lm -pthread -o $@

install: library ## Install the C library, its header, licenses, CMake package and pkg-config file below PREFIX=/usr/local
	@mkdir -p $(addprefix $(INTO)/,include lib/pkgconfig lib/cmake/mmdskin share/licenses/mmdskin)
	install -m 644 csrc/mmdskin.h $(INTO)/include
	install -m 644 build/libmmdskin.a $(INTO)/lib
	install -m 755 build/libmmdskin.so $(INTO)/lib/libmmdskin.so.$(VERSION)
	ln -sf libmmdskin.so.$(VERSION) $(INTO)/lib/$(SONAME)
	ln -sf $(SONAME) $(INTO)/lib/libmmdskin.so
	install -m 644 LICENSE csrc/licenses/cglm.txt $(INTO)/share/licenses/mmdskin
	install -m 644 csrc/install/mmdskinConfig.cmake $(INTO)/lib/cmake/mmdskin
	for file in pkgconfig/mmdskin.pc cmake/mmdskin/mmdskinConfigVersion.cmake; do \
		sed 's#@PREFIX@#$(PREFIX)#; s#@VERSION@#$(VERSION)#' csrc/install/$${file##*/}.in \
			>$(INTO)/lib/$$file || exit; done

# C on its own: every compiler, and the core under the sanitizers

.PHONY: check-format check-compile check-fuzz check-threads check-library

check-format: .venv/ready build/packages-check
	@echo clang-format, ruff, mypy
	@clang-format --dry-run -Werror $(C_FILES)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary csrc/mmdskin
	@$(BIN)/mypy --no-error-summary --config-file tests/check/mypy.ini addon

check-compile: $(call objects,gcc,$(SOURCES)) $(call objects,clang,$(SOURCES)) \
	$(call objects,mingw,$(CORE) $(wildcard csrc/gl/*.c) $(ELSEWHERE))

build/c/tests: $(call objects,sanitize,$(CORE) $(C_TESTS))
	@mkdir -p $(@D)
	@gcc $(SANITIZE) $^ -lm -o $@

# NEON, which QEMU runs anywhere.
build/c/tests-arm: $(call objects,arm,$(CORE) $(C_TESTS))
	@mkdir -p $(@D)
	@$(CC_arm) -static $^ -lm -o $@

# The installed library as other projects use it, by CMake and by pkg-config, from C and from C++;
# the examples with sanitizers, too.
INSTALLED := $(CURDIR)/build/library

check-library: build/library/ready $(EXAMPLES:%=build/c/%-sanitized) build/installed
	@g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -xc++ csrc/mmdskin.h
	@PYTHONPATH=tests $(BIN)/python tests/check/c_library.py $(INSTALLED) $(EXAMPLES:%=build/c/%-sanitized)

build/library/ready: build/libmmdskin.a build/libmmdskin.so csrc/mmdskin.h $(wildcard csrc/install/*) build/packages-check
	@rm -rf $(@D)
	@$(MAKE) --no-print-directory install PREFIX=build/library >/dev/null
	@touch $@

build/c/%-sanitized: docs/examples/c/%.c docs/examples/c/files.h $(call objects,sanitize,$(CORE))
	@mkdir -p $(@D)
	@gcc $(LANGUAGE_FLAGS) $(WARNING_FLAGS) -Werror -Icsrc $(SANITIZE) $(filter-out %.h,$^) -lm -o $@

# Threads that share the core's objects, and the OpenGL thread, under ThreadSanitizer. It does not
# see how drivers lock, as they are built without it.

export TSAN_OPTIONS := ignore_noninstrumented_modules=1

check-threads: build/c/threads build/c/threads-gl build/fuzz/seeds
	@for program in $(filter build/c/%,$^); do for model in small.pmx leg.pmd; do \
		$$program build/fuzz/seeds/model/$$model build/fuzz/seeds/motion/leg.vmd || exit 1; done; done

build/c/threads: $(call objects,race,$(SHARING) $(CORE))
	@mkdir -p $(@D)
	@gcc $(RACE) $^ -lm -o $@

build/c/threads-gl: $(SHARING) $(call objects,race,$(CORE) $(GL))
	@mkdir -p $(@D)
	@gcc $(BASE_FLAGS) $(RACE) -DMMD_TEST_GL $^ -ldl -lm -o $@

# The fuzzers: one file each, and the core compiled once for all.

$(FUZZERS:%=build/fuzz/%): build/fuzz/%: $(call objects,fuzz,$(CORE) tests/fuzz/target.c) build/objects/fuzz/tests/fuzz/%.o
	@mkdir -p $(@D)
	@clang $(SANITIZE) -fsanitize=fuzzer $^ -lm -o $@

build/fuzz/seeds: tests/fuzz/seeds.py $(wildcard tests/files/*.py) .venv/ready
	@mkdir -p $@
	$(BIN)/python $< $@
	@touch $@

check-fuzz: $(FUZZERS:%=build/fuzz/%-run)

build/fuzz/%-run: build/fuzz/% build/fuzz/seeds
	bash tests/check/fuzz.sh $< $(FUZZ_SECONDS) $(FUZZ_SEED)

# Which lines of the core run in the C tests, the fuzzers and the tests of the module

coverage: build/coverage/tests $(FUZZERS:%=build/coverage/%) build/coverage/module build/fuzz/seeds ## Show the lines of the core that tests and fuzzers run
	@$(BIN)/python tests/check/coverage.py build/coverage $(FUZZERS)

build/coverage/tests: $(call objects,coverage,$(CORE) $(C_TESTS))
	@mkdir -p $(@D)
	@clang $(COVER_FLAGS) $^ -lm -o $@

$(FUZZERS:%=build/coverage/%): build/coverage/%: $(call objects,coverage,$(CORE) tests/fuzz/target.c) \
		build/objects/coverage/tests/fuzz/%.o
	@mkdir -p $(@D)
	@clang $(COVER_FLAGS) -fsanitize=fuzzer $^ -lm -o $@

build/coverage/module: $(MODULE_SOURCES) build/installed
	@echo clang, coverage $@
	@CC=clang LDSHARED="clang -shared" CFLAGS="$(COVER_FLAGS)" LDFLAGS="$(COVER_FLAGS)" \
		$(BIN)/python setup.py --quiet build --build-lib $@ --build-temp build/coverage/temp
	@touch $@

include tests/platforms/check.mk
