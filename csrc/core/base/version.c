/* SPDX-License-Identifier: MIT */
#include "mmdskin.h"

const char *mmd_version(void)
{
    return MMDSKIN_VERSION;
}
