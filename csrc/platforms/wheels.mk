# SPDX-License-Identifier: MIT
# The wheels: for this machine by its own compiler, and for every platform of cross.py by zig.
# Each is built in build/wheels/<platform> and copied to dist.

PLATFORMS := linux-x64 linux-arm64 musl-x64 musl-arm64 windows-x64 windows-arm64 macos-arm64 macos-x64
# Those that there is a Blender for.
BLENDER_PLATFORMS := $(filter-out musl-%,$(PLATFORMS))
# The wheel that `make build` installs and `make test` tests: `own`, or that of this machine's
# platform.
TESTED ?= own

MODULE_SOURCES := $(SOURCES) $(ELSEWHERE) $(HEADERS) $(wildcard csrc/mmdskin/*.py* csrc/mmdskin/py.typed csrc/mmdskin/*/*.py csrc/mmdskin/*/*.txt csrc/licenses/* shaders/*) \
	$(wildcard csrc/platforms/*.py) csrc/platforms/flags.mk setup.py pyproject.toml README.md LICENSE
CROSS_BIN := build/cross/venv/bin
WHEELS := $(PLATFORMS:%=build/wheels/%.ready)
BLENDER_WHEELS := $(BLENDER_PLATFORMS:%=build/wheels/%.ready)

wheel: build/wheel ## Build dist/mmdskin-<version>-*.whl for this machine
	@ls build/wheels/own/*.whl

sdist: $(MODULE_SOURCES) .venv/ready build/third_party/complete ## Build the source distribution, dist/mmdskin-<version>.tar.gz
	$(BIN)/python setup.py --quiet sdist --dist-dir dist
	@ls dist/mmdskin-$(VERSION).tar.gz

wheels: $(WHEELS) ## Build the wheels of all platforms in dist
	@ls $(PLATFORMS:%=build/wheels/%/*.whl)

build/wheels/own.ready: $(MODULE_SOURCES) .venv/ready build/third_party/complete
	rm -rf build/lib.* build/temp.* build/bdist.* $(@:.ready=)
	$(BIN)/pip wheel --quiet --no-build-isolation --no-deps --wheel-dir $(@:.ready=) .
	mkdir -p dist && cp $(@:.ready=)/*.whl dist
	@touch $@

build/wheel: build/wheels/own.ready
	@touch $@

build/cross/venv/ready: csrc/platforms/requirements.txt .venv/ready
	$(PYTHON) -m venv $(@D)
	$(CROSS_BIN)/pip install --quiet --requirement $<
	@touch $@

build/wheels/%.ready: $(MODULE_SOURCES) build/cross/venv/ready build/third_party/complete $(GENERATED)
	rm -rf $(@:.ready=) build/cross/$*
	MMDSKIN_PLATFORM=$* $(CROSS_BIN)/pip wheel --quiet --no-build-isolation --no-deps \
		--no-cache-dir --wheel-dir $(@:.ready=) .
	mkdir -p dist && cp $(@:.ready=)/*.whl dist
	@touch $@

# The name of the wheel that was installed last, so that another choice is installed again.
build/tested: FORCE
	@mkdir -p $(@D)
	@echo $(TESTED) | cmp -s - $@ || echo $(TESTED) >$@
FORCE:

build/installed: build/tested build/wheels/$(TESTED).ready
	$(BIN)/pip install --quiet --force-reinstall --no-deps build/wheels/$(TESTED)/*.whl
	@touch $@
