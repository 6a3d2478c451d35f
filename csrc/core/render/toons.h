/* SPDX-License-Identifier: MIT */
#ifndef MMD_TOONS_H
#define MMD_TOONS_H

#include <stdint.h>

/* The toon textures that models share, toon01.bmp to toon10.bmp of MMD, drawn from their measured
   colors. They do not change along x: a texture is a column of pixels, lit at the top. */

enum { MMD_TOON_COUNT = 10, MMD_TOON_ROWS = 32 };

/* Fills (MMD_TOON_COUNT,MMD_TOON_ROWS,4) bytes: sRGB and alpha. */
void mmd_toons(uint8_t *pixels);

#endif
