/* SPDX-License-Identifier: MIT */
#ifndef TEST_H
#define TEST_H

#include "core/base/error.h"
#include "core/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A failing check is printed and fails its test, which continues. Each check returns its result, so
   that `if (!CHECK(model)) return;` stops where the rest makes no sense. */
#define CHECK(condition) test_check((condition), __FILE__, __LINE__, #condition)
#define CHECK_NEAR(got, want, tolerance)                                                           \
    test_near((got), (want), (tolerance), __FILE__, __LINE__, #got)
#define CHECK_INT(got, want) test_int((long long)(got), (long long)(want), __FILE__, __LINE__, #got)
/* `want` is a string literal. */
#define CHECK_TEXT(got, want) test_text((got), (want), sizeof(want) - 1, __FILE__, __LINE__, #got)
#define CHECK_FLOATS(got, count, ...)                                                              \
    test_floats((got), (const float[]){__VA_ARGS__}, (count), 0, __FILE__, __LINE__, #got)
#define CHECK_FLOATS_NEAR(got, count, tolerance, ...)                                              \
    test_floats((got), (const float[]){__VA_ARGS__}, (count), (tolerance), __FILE__, __LINE__, #got)
#define RUN(test) test_run(#test, test)

bool test_check(bool good, const char *file, int line, const char *what);
bool test_near(double got, double want, double tolerance, const char *file, int line,
               const char *what);
bool test_int(long long got, long long want, const char *file, int line, const char *what);
bool test_text(mmd_text got, const char *want, size_t size, const char *file, int line,
               const char *what);
bool test_floats(const float *got, const float *want, size_t count, double tolerance,
                 const char *file, int line, const char *what);
void test_run(const char *name, void (*test)(void));

/* A copy in a heap buffer of exactly `size` bytes, so that AddressSanitizer detects overruns. The
   caller frees it. */
void *test_exact(const void *data, size_t size);

/* Pseudo-random numbers, the same in every run. */
uint32_t test_random(uint32_t *state);
float test_random_float(uint32_t *state, float low, float high);

void error_tests(void);
void arena_tests(void);
void public_tests(void);
void bytes_tests(void);
void text_tests(void);
void load_tests(void);
void pmx_tests(void);
void pmx_write_tests(void);
void model_new_tests(void);
void pmx_rejected_tests(void);
void pmx_sanitized_tests(void);
void numbers_tests(void);
void thread_pool_tests(void);
void morph_tests(void);
void motion_tests(void);
void rig_tests(void);
void binding_tests(void);
void sampling_tests(void);
void camera_tests(void);
void pose_tests(void);
void ik_tests(void);
void mesh_tests(void);
void skin_tests(void);
void job_tests(void);
void kernel_tests(void);
void memory_tests(void);
void simulation_tests(void);
void world_tests(void);
void constraint_solver_tests(void);
void same_bits_tests(void);

#endif
