/* SPDX-License-Identifier: MIT */
/* Draws the toon textures that models share. */
#include "core/render/toons.h"

#include <math.h>

/* From the lit color to that of the shadow: all rows up to `first` are lit, those from `last` on in
   shadow. */
typedef struct ramp {
    double lit[3], shadow[3];
    int first, last;
} ramp;

#define WHITE                                                                                      \
    {                                                                                              \
        255, 255, 255                                                                              \
    }
static const ramp ramps[MMD_TOON_COUNT] = {
    {WHITE, {205, 205, 205}, 15, 16}, {WHITE, {245, 225, 225}, 15, 16},
    {WHITE, {154, 154, 154}, 15, 16}, {WHITE, {248, 239, 235}, 15, 16},
    {WHITE, {255, 231, 221}, 18, 26}, {{255, 237, 97}, {195, 172, 3}, 19, 26},
    {WHITE, WHITE, 15, 16},           {WHITE, WHITE, 15, 16},
    {WHITE, WHITE, 15, 16},           {WHITE, WHITE, 15, 16},
};

/* Toon 06 has a pale band, here half-way to white at its middle row. */
static const int BAND_TOON = 5;
static const double BAND_MIDDLE = 11.5, BAND_HALF_WIDTH = 4, BAND_STRENGTH = 0.5;

/* 0 to 1 with flat ends. */
static double smooth_step(double x)
{
    double t = fmin(fmax(x, 0), 1);
    return t * t * (3 - 2 * t);
}

void mmd_toons(uint8_t *pixels)
{
    for (int toon = 0; toon < MMD_TOON_COUNT; toon++)
        for (int row = 0; row < MMD_TOON_ROWS; row++, pixels += 4) {
            const ramp *r = &ramps[toon];
            double dark = smooth_step((double)(row - r->first) / (r->last - r->first));
            double pale =
                toon == BAND_TOON ? smooth_step(1 - fabs(row - BAND_MIDDLE) / BAND_HALF_WIDTH) : 0;
            for (int i = 0; i < 3; i++) {
                double color = r->lit[i] + (r->shadow[i] - r->lit[i]) * dark;
                color += (255 - color) * BAND_STRENGTH * pale;
                pixels[i] = (uint8_t)lround(color);
            }
            pixels[3] = 255;
        }
}
