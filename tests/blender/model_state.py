# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything of the file that a bake may touch."""

import fingerprint

of_file = fingerprint.of_file


def differences(before):
    return fingerprint.differences(before, of_file())
