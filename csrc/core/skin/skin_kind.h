/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_KIND_H
#define MMD_SKIN_KIND_H

#include "mmdskin.h"

/* The formula that skins a vertex. */
typedef enum mmd_skin_kind {
    MMD_SKIN_LINEAR,
    MMD_SKIN_SDEF,
    MMD_SKIN_QDEF, /* dual quaternions */
    MMD_SKIN_CENTER,
    MMD_SKIN_BULGE_FREE,
    MMD_SKIN_COMPENSATED,
    MMD_SKIN_KIND_COUNT
} mmd_skin_kind;

/* The formula that a method applies to a vertex of this kind and number of influences. */
static inline mmd_skin_kind mmd_skin_kind_of(mmd_method method, int32_t kind, int32_t count)
{
    return method == MMD_METHOD_LINEAR || count == 0 ? MMD_SKIN_LINEAR
           : method == MMD_METHOD_DUAL_QUATERNION    ? MMD_SKIN_QDEF
                                                     : (mmd_skin_kind)kind;
}

#endif
