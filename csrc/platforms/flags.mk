# SPDX-License-Identifier: MIT
# The compiler's flags, read by the Makefile and by setup.py: each flag is written here and nowhere
# else. One line per name.

# Floats are computed as written, so that every compiler and machine gives the same bits.
LANGUAGE_FLAGS := -std=c11 -ffp-contract=off -fno-math-errno -fvisibility=hidden
# Numbers written one by one and read as a vector stall: a tenth of the time of a pose.
RELEASE_FLAGS := -O3 -fno-tree-slp-vectorize
# Of modules, not of tests: a broken stack ends the process, and calls that overrun an array of known size
# do. _FORTIFY_SOURCE is undefined first, as some compilers define it.
HARDENING_FLAGS := -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
WARNING_FLAGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wsign-conversion
INCLUDE_FLAGS := -Icsrc -Ibuild/generated -isystem build/third_party/include -isystem build/third_party/glew
# The stable interface of Python 3.10, and numpy's of 1.22.
PYTHON_FLAGS := -DPy_LIMITED_API=0x030a0000 -DNPY_TARGET_VERSION=NPY_1_22_API_VERSION -DNPY_NO_DEPRECATED_API=NPY_1_22_API_VERSION
