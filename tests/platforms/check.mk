# SPDX-License-Identifier: MIT
# The wheels of other systems where this machine can run them: Windows' under Wine, ARM's in QEMU.

WINDOWS := bash tests/platforms/windows.sh
WINDOWS_PYTHON := $(WINDOWS) run build/windows/python/python.exe
# `all` takes half an hour, `some` is what .ci/run has time for.
WINDOWS_PART ?= all
ifeq ($(WINDOWS_PART),all)
# What takes minutes there and depends on no system: files with flipped bytes, how time grows with
# a file's size (to be seen on an idle machine only), and tests of the repository (types, documents).
WINDOWS_TESTS := tests/module tests/formats tests/pose tests/skin tests/judges tests/physics \
	--ignore=tests/module/test_package.py --ignore=tests/module/test_citations.py \
	--ignore=tests/pose/test_growth.py -k "not flipped and not byte_flips and not in_proportion"
else
WINDOWS_TESTS := $(addprefix tests/,module/test_import.py module/test_contract.py module/test_pickle.py \
	module/test_threads.py formats/test_model.py pose/test_pose.py skin/test_skin.py skin/test_deform.py)
WINDOWS_CASES := cases_bake.
WINDOWS_TROUBLES := -k update
endif
WINDOWS_ZIP := build/windows/zip/mmdskin-$(VERSION).zip

check-windows: build/windows/ready build/c/windows/tests.exe $(WINDOWS_ZIP) ## Test the Windows wheel and add-on under Wine
	@echo C tests on Windows
	@$(WINDOWS) run build/c/windows/tests.exe
	$(WINDOWS) install build/wheels/windows-x64/*.whl
	$(WINDOWS_PYTHON) -m pytest -q -p no:cacheprovider $(WINDOWS_TESTS)
	$(BIN)/python tests/platforms/windows_gl.py
	$(BIN)/python tests/platforms/windows_addon.py $(WINDOWS_ZIP) $(WINDOWS_CASES)
	MMDSKIN_BLENDERS=windows $(BIN)/python -m pytest -q tests/blender/test_troubles.py $(WINDOWS_TROUBLES)

$(WINDOWS_ZIP): build/wheels/windows-x64.ready $(ADDON_SOURCES) build/windows/ready
	$(BIN)/python addon/package.py --output $(@D) --wheel build/wheels/windows-x64/*.whl

build/windows/ready: tests/platforms/windows.sh csrc/platforms/cross.py build/packages-windows .venv/ready
	$(WINDOWS) setup
	$(WINDOWS) bpy
	@touch $@

# clang's vector code keeps its stack aligned on Windows, gcc's does not.
build/c/windows/tests.exe: $(CORE) $(HEADERS) $(C_TESTS) build/system-include build/cross/venv/ready
	@mkdir -p $(@D)
	@echo zig, Windows $@
	@$(CROSS_BIN)/python -m ziglang cc -target x86_64-windows-gnu $(CFLAGS) -O2 -DMMD_TEST_MEMORY \
		-isystem build/system-include -Itests/c $(filter %.c,$^) -o $@

# OpenGL, too. Left out: what starts many interpreters, each of which takes seconds there, whole
# dances, half an hour of the same arithmetic, what is timed, and the memory of the process, QEMU's too.
check-arm: build/arm/ready build/wheels/linux-arm64.ready ## Test the ARM wheel in QEMU
	bash tests/platforms/arm.sh install build/wheels/linux-arm64/*.whl
	bash tests/platforms/arm.sh run -m pytest -q -p no:cacheprovider tests/skin tests/pose \
		tests/formats/test_model.py tests/module/test_import.py tests/module/test_pickle.py \
		--ignore-glob='tests/skin/test_gl*.py' --ignore=tests/pose/test_dances.py \
		--ignore=tests/pose/test_growth.py \
		-k "not less_than_20_ms and not thirty_thousand_bones and not hostile_solvers and not is_kept"

build/arm/ready: tests/platforms/arm.sh build/packages-check .venv/ready
	bash tests/platforms/arm.sh setup
	@touch $@

WINDOWS_OF := 3.4 4.3 5.2
check-window: build build/packages-demo build/blender-3.4 ## Clicks and drops in windows of Debian's Blenders, the newer 400 MB each
	bash tests/blender/window.sh $(filter-out 3.4,$(WINDOWS_OF))
	MMDSKIN_WINDOWS="$(WINDOWS_OF)" $(BIN)/python -m pytest -q -rs tests/blender/test_window.py

check-pythons: build/wheels/linux-x64.ready ## Test the Linux wheel on Python 3.10 to 3.14
	bash tests/platforms/pythons.sh build/wheels/linux-x64/*.whl

check-same: wheels addon ## Make all that ships again, in another folder: the same bytes
	bash tests/platforms/same.sh $(PLATFORMS:%=build/wheels/%/*.whl) dist/mmdskin-$(VERSION)*.zip
