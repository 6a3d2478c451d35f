/* SPDX-License-Identifier: MIT */
/* The version of the library that runs, which a program may compare with its header's. */
#include "mmdskin.h"

const char *mmd_version(void)
{
    return MMDSKIN_VERSION;
}

uint32_t mmd_version_number(void)
{
    return MMDSKIN_VERSION_NUMBER;
}
