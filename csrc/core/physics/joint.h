/* SPDX-License-Identifier: MIT */
#ifndef MMD_JOINT_H
#define MMD_JOINT_H

#include "core/physics/rows.h"

enum { MMD_JOINT_ROWS = 6 }; /* at most */

/* One of six numbers: translations of B's frame along the axes of A's, then Euler angles. */
typedef struct mmd_joint_axis {
    double lower, upper; /* free when lower > upper */
    double spring;       /* 0: none */
} mmd_joint_axis;

/* The joint's frame as each body carries it. */
typedef struct mmd_joint_frame {
    double position[3], axes[3][3];
} mmd_joint_frame;

/* The body that a joint keeps on a leash: each is on one, of the first joint that names it. */
typedef enum mmd_hangs { MMD_HANGS_NONE, MMD_HANGS_A, MMD_HANGS_B } mmd_hangs;

typedef struct mmd_held_joint {
    size_t number; /* among all joints of the world's desc */
    size_t a, b;
    mmd_hangs hangs;
    mmd_joint_frame frame_a, frame_b;
    mmd_joint_axis along[3], about[3];
} mmd_held_joint;

/* `source` names two of the bodies, which are at rest. */
void mmd_joint_init(const mmd_joint *source, const mmd_body *bodies, mmd_held_joint *joint);

/* How far it stands beyond its limits, along its axes: units. */
double mmd_joint_stretch(const mmd_held_joint *joint, const mmd_body *bodies);

/* The same about them, Euler angles: radians. */
double mmd_joint_twist(const mmd_held_joint *joint, const mmd_body *bodies);

/* Brings the body that hangs on it back to `most` units beyond its limits, as it is turned. Whether
   it was farther. */
bool mmd_joint_leash(const mmd_held_joint *joint, double most, mmd_body *bodies);

/* The rows of this step, at most MMD_JOINT_ROWS; returns their number. */
size_t mmd_joint_rows(const mmd_held_joint *joint, const mmd_body *bodies, double step,
                      size_t iterations, mmd_row *rows);

#endif
