/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPORTS = 5 };

static const char *current;
static int passed, failed, reports;

static bool report(bool good, const char *file, int line, const char *format, ...) MMD_PRINTF(4, 5);

static bool report(bool good, const char *file, int line, const char *format, ...)
{
    if (good || reports++ >= MAX_REPORTS)
        return good;
    va_list args;
    va_start(args, format);
    printf("%s:%d: %s: ", file, line, current);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    return false;
}

bool test_check(bool good, const char *file, int line, const char *what)
{
    return report(good, file, line, "%s", what);
}

bool test_near(double got, double want, double tolerance, const char *file, int line,
               const char *what)
{
    return report(fabs(got - want) <= tolerance, file, line, "%s is %.9g, expected %.9g", what, got,
                  want);
}

bool test_int(long long got, long long want, const char *file, int line, const char *what)
{
    return report(got == want, file, line, "%s is %lld, expected %lld", what, got, want);
}

bool test_text(mmd_text got, const char *want, size_t size, const char *file, int line,
               const char *what)
{
    bool good =
        got.data && got.size == size && memcmp(got.data, want, size) == 0 && got.data[size] == '\0';
    return report(good, file, line, "%s is \"%s\" (%zu bytes), expected \"%s\" (%zu bytes)", what,
                  got.data ? got.data : "(null)", got.size, want, size);
}

bool test_floats(const float *got, const float *want, size_t count, double tolerance,
                 const char *file, int line, const char *what)
{
    bool good = true;
    for (size_t i = 0; i < count; i++)
        good &= report(fabs((double)got[i] - (double)want[i]) <= tolerance, file, line,
                       "%s[%zu] is %.9g, expected %.9g", what, i, (double)got[i], (double)want[i]);
    return good;
}

void test_run(const char *name, void (*test)(void))
{
    current = name;
    reports = 0;
    test();
    if (reports > MAX_REPORTS)
        printf("%s: %d more\n", name, reports - MAX_REPORTS);
    if (reports)
        failed++;
    else
        passed++;
}

void *test_exact(const void *data, size_t size)
{
    void *copy = malloc(size);
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    return copy;
}

uint32_t test_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

float test_random_float(uint32_t *state, float low, float high)
{
    return low + (high - low) * (float)test_random(state) / (float)(1 << 24);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* keeps what was printed when a sanitizer aborts */
    error_tests();
    arena_tests();
    public_tests();
    bytes_tests();
    text_tests();
    load_tests();
    pmx_tests();
    pmx_write_tests();
    model_new_tests();
    pmx_rejected_tests();
    pmx_sanitized_tests();
    numbers_tests();
    thread_pool_tests();
    morph_tests();
    motion_tests();
    rig_tests();
    binding_tests();
    sampling_tests();
    camera_tests();
    pose_tests();
    ik_tests();
    mesh_tests();
    skin_tests();
    job_tests();
    kernel_tests();
    memory_tests();
    simulation_tests();
    world_tests();
    constraint_solver_tests();
    same_bits_tests();
    printf("C: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
