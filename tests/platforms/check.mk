# SPDX-License-Identifier: MIT
# Tests of the wheels for other systems: Windows under Wine, ARM in QEMU.

WINDOWS := bash tests/platforms/windows.sh
WINDOWS_PYTHON := $(WINDOWS) run build/windows/python/python.exe
# `all` takes half an hour; .ci/run has time for `some`.
WINDOWS_PART ?= all
ifeq ($(WINDOWS_PART),all)
# Left out: what takes minutes there and is the same on every system (files with flipped bytes), what
# needs an idle machine (how time grows with a file's size), and tests of the repository itself.
WINDOWS_TESTS := tests/module tests/formats tests/pose tests/skin tests/judges tests/physics \
	--ignore=tests/module/test_package.py --ignore=tests/module/test_citations.py \
	--ignore=tests/pose/test_growth.py -k "not flipped and not byte_flips and not in_proportion"
else
WINDOWS_TESTS := $(addprefix tests/,module/test_import.py module/test_contract.py module/test_out.py \
	module/test_pickle.py module/test_threads.py formats/test_model.py pose/test_pose.py \
	skin/test_skin.py skin/test_deform.py)
WINDOWS_CASES := cases_bake.
WINDOWS_PROBLEMS := -k update
endif
WINDOWS_ZIP := build/windows/zip/mmdskin-$(VERSION).zip

check-windows: build/windows/ready build/c/tests-windows.exe $(WINDOWS_ZIP) ## Test the Windows wheel and add-on under Wine
	@echo C tests on Windows
	@$(WINDOWS) run build/c/tests-windows.exe
	$(WINDOWS) install build/wheels/windows-x64/*.whl
	$(WINDOWS_PYTHON) -m pytest -q -p no:cacheprovider $(WINDOWS_TESTS)
	$(BIN)/python tests/platforms/windows_gl.py
	$(BIN)/python tests/platforms/windows_addon.py $(WINDOWS_ZIP) $(WINDOWS_CASES)
	MMDSKIN_BLENDERS=windows $(BIN)/python -m pytest -q tests/blender/test_zip_problems.py $(WINDOWS_PROBLEMS)

$(WINDOWS_ZIP): build/wheels/windows-x64.ready $(ADDON_SOURCES) build/windows/ready
	$(BIN)/python addon/package.py --output $(@D) --wheel build/wheels/windows-x64/*.whl

build/windows/ready: tests/platforms/windows.sh csrc/platforms/cross.py build/packages-windows .venv/ready
	$(WINDOWS) setup
	$(WINDOWS) bpy
	@touch $@

# Built by zig: on Windows, clang's vector code keeps the stack aligned, gcc's does not.
build/c/tests-windows.exe: $(call objects,windows,$(CORE) $(C_TESTS))
	@mkdir -p $(@D)
	@$(CC_windows) $^ -o $@

# Includes OpenGL. Left out: tests that start many interpreters (seconds each in QEMU), whole dances
# (half an hour of the same arithmetic), timing, and memory (which is QEMU's as well).
check-arm: build/arm/ready build/wheels/linux-arm64.ready ## Test the ARM wheel in QEMU
	bash tests/platforms/arm.sh install build/wheels/linux-arm64/*.whl
	bash tests/platforms/arm.sh run -m pytest -q -p no:cacheprovider tests/skin tests/pose \
		tests/formats/test_model.py tests/module/test_import.py tests/module/test_pickle.py \
		--ignore-glob='tests/skin/test_gl*.py' --ignore=tests/pose/test_dances.py \
		--ignore=tests/pose/test_growth.py \
		-k "not less_than_20_ms and not thirty_thousand_bones and not hostile_solvers and not is_kept \
		and not kept_data and not data_kept"

build/arm/ready: tests/platforms/arm.sh build/packages-check .venv/ready
	bash tests/platforms/arm.sh setup
	@touch $@

# With the C library of Alpine Linux; tests/platforms/test_wheels.py loads the module itself.
check-musl: build/c/tests-musl ## Run the C tests with musl
	build/c/tests-musl

build/c/tests-musl: $(call objects,musl,$(CORE) $(C_TESTS))
	@mkdir -p $(@D)
	@$(CC_musl) $^ -lm -o $@

WINDOWS_OF := 3.4 4.3 5.2
check-window: build build/packages-demo build/blender-3.4 ## Test by mouse in windows of Blender 3.4, 4.3 and 5.2
	bash tests/blender/window.sh $(filter-out 3.4,$(WINDOWS_OF))
	MMDSKIN_WINDOWS="$(WINDOWS_OF)" $(BIN)/python -m pytest -q -rs tests/blender/test_window*.py

check-pythons: build/wheels/linux-x64.ready ## Test the Linux wheel on Python 3.10 to 3.14
	bash tests/platforms/pythons.sh build/wheels/linux-x64/*.whl

check-same: wheels sdist addon ## Build all that ships again in another folder and compare the bytes
	bash tests/platforms/same.sh $(PLATFORMS:%=build/wheels/%/*.whl) dist/mmdskin-$(VERSION).tar.gz dist/mmdskin-$(VERSION)*.zip
