/* SPDX-License-Identifier: MIT */
/* Bone matrices from the forms in which callers have them. */
#include "python/pose_io.h"

#include "core/base/error.h"
#include "core/math/mat3.h"

#include <math.h>
#include <string.h>

enum { MATRIX = 16, ROWS = 12, QUATERNION = 7 };

/* The numbers of a bone in an array of rank 2 to 4: by its last lengths. */
static int form_of(const mmd_py_array *array)
{
    size_t last = array->rank > 0 ? array->shape[array->rank - 1] : 0;
    size_t before = array->rank > 1 ? array->shape[array->rank - 2] : 0;
    if (last == QUATERNION && (array->rank == 2 || array->rank == 3))
        return QUATERNION;
    return last == 4 && before == 3 && array->rank > 2 ? ROWS : MATRIX;
}

static bool from_quaternion(const float *from, float *to)
{
    double q[4], m[3][3], square = 0;
    for (int i = 0; i < 4; i++) {
        q[i] = (double)from[3 + i];
        square += q[i] * q[i];
    }
    if (square == 0)
        return false;
    mmd_mat3_from_quat(q, m);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            to[4 * i + k] = (float)m[i][k];
        to[4 * i + 3] = from[i];
    }
    return true;
}

/* Replaces an array of another form by matrices. */
static bool convert(mmd_py_array *array, const char *name, int form, bool has_frames)
{
    size_t frames = has_frames ? array->shape[0] : 1, bones = array->shape[has_frames];
    const size_t shape[] = {frames, bones, 4, 4};
    mmd_py_array matrices = {0};
    if (!mmd_py_array_new_floats(has_frames ? 4 : 3, shape + !has_frames, &matrices))
        return false;
    static const float last_row[4] = {0, 0, 0, 1};
    const float *from = array->data;
    float *to = matrices.data;
    for (size_t i = 0; i < frames * bones; i++, from += form, to += MATRIX) {
        memcpy(to + ROWS, last_row, sizeof last_row);
        if (form == ROWS) {
            memcpy(to, from, ROWS * sizeof *to);
        } else if (!from_quaternion(from, to)) {
            PyErr_Format(PyExc_ValueError, "%s: frame %zu, bone %zu: quaternion has length zero",
                         name, i / bones, i % bones);
            mmd_py_array_clear(&matrices);
            return false;
        }
    }
    mmd_py_array_clear(array);
    *array = matrices;
    return true;
}

bool mmd_py_bone_matrices_from(PyObject *argument, const char *name, size_t bones,
                               mmd_py_array *out, size_t *frames, bool *batched)
{
    if (!mmd_py_array_from(argument, name, MMD_PY_FLOAT32, false, out))
        return false;
    int form = form_of(out);
    const size_t lengths[] = {MMD_PY_ANY, bones, form == ROWS ? 3 : 4, 4};
    const size_t quaternions[] = {MMD_PY_ANY, bones, QUATERNION};
    const size_t *shape = form == QUATERNION ? quaternions : lengths;
    int rank = form == QUATERNION ? 2 : 3;
    bool has_frames = out->rank == rank + 1;
    if (!mmd_py_array_check_shape(out, name, rank + has_frames, shape + !has_frames,
                                  has_frames ? "FB" : "B"))
        return false;
    *frames = has_frames ? out->shape[0] : 1;
    *batched |= has_frames;
    return form == MATRIX || convert(out, name, form, has_frames);
}

size_t mmd_py_bone_matrices_count(const mmd_py_array *matrices)
{
    return matrices->shape[matrices->rank - 3];
}

bool mmd_py_bone_matrices_check_finite(const mmd_py_array *matrices, const char *name)
{
    size_t count = MATRIX, bones = mmd_py_bone_matrices_count(matrices);
    for (int i = 0; i < matrices->rank - 2; i++)
        count *= matrices->shape[i];
    const float *numbers = matrices->data;
    size_t bad = mmd_numbers_first_not_finite(numbers, count);
    return bad == count || PyErr_Format(PyExc_ValueError, "%s: frame %zu, bone %zu: matrix is %s",
                                        name, bad / MATRIX / bones, bad / MATRIX % bones,
                                        mmd_numbers_fault((double)numbers[bad]));
}
