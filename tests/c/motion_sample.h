/* SPDX-License-Identifier: MIT */
#ifndef MOTION_SAMPLE_H
#define MOTION_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* A VMD file with a few keys of every track, out of order: bone "a" at frames 20, 0, 10 with
   linear curves, morph "m" at 8 and 4, camera, light and shadow at 3, IK "goal" off at 5. */
typedef struct vmd_sample {
    uint8_t bytes[1024];
    size_t size;
} vmd_sample;

enum { VMD_FIRST_BONE_KEY = 54, VMD_BONE_KEY_SIZE = 111 };

vmd_sample vmd_sample_new(void);

/* A VPD file that rotates bone "a" by half a turn about y. */
extern const char vpd_sample[];

#endif
