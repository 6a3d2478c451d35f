/* SPDX-License-Identifier: MIT */
#ifndef _WIN32
#define _XOPEN_SOURCE 700
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#include "core/base/file.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every step of writing a file fails in turn, or the process dies there: the old file or the new
   one is there, whole, and nothing else once somebody has written again. */

enum { NEW = (1 << 20) + 12345, STEPS = 6 }; /* create, write twice, flush, close, rename */
static const char OLD[] = "what was here before";

static const char *path_of(char *out, const char *name)
{
    const char *folder = getenv("TMPDIR");
    folder = folder ? folder : getenv("TEMP");
    sprintf(out, "%.100s/mmdskin-%s", folder ? folder : "/tmp", name);
    return out;
}

static char *new_contents(void)
{
    char *bytes = malloc(NEW);
    for (size_t i = 0; bytes && i < NEW; i++)
        bytes[i] = (char)(i * 7 % 251);
    return bytes;
}

static bool contains(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    char *found = malloc(size + 1);
    bool same = file && fread(found, 1, size + 1, file) == size && memcmp(found, bytes, size) == 0;
    free(found);
    if (file)
        fclose(file);
    return same;
}

static void a_file_is_created_and_replaced(void)
{
    char room[256];
    const char *path = path_of(room, "\xe8\xb8\x8a\xe3\x82\x8a.vmd");
    char *bytes = new_contents();
    CHECK_INT(mmd_file_write(path, bytes, NEW), 0);
    CHECK_INT(mmd_file_write(path, OLD, sizeof OLD), 0);
#ifndef _WIN32
    CHECK(contains(path, OLD, sizeof OLD));
#endif
    CHECK_INT(mmd_file_write(path, bytes, 0), 0);
    free(bytes);
    remove(path);
}

static void a_failing_step_keeps_the_old_file(void)
{
    char room[256];
    const char *path = path_of(room, "step.vmd");
    char *bytes = new_contents();
    for (long step = 0; step < STEPS; step++) {
        CHECK_INT(mmd_file_write(path, OLD, sizeof OLD), 0);
        mmd_file_fail_after(step, NULL);
        CHECK_INT(mmd_file_write(path, bytes, NEW), ENOSPC);
        mmd_file_fail_after(-1, NULL);
        CHECK(contains(path, OLD, sizeof OLD));
    }
    mmd_file_fail_after(STEPS, NULL);
    CHECK_INT(mmd_file_write(path, bytes, NEW), 0);
    mmd_file_fail_after(-1, NULL);
    CHECK(contains(path, bytes, NEW));
    free(bytes);
    remove(path);
}

static void a_missing_folder_is_an_error(void)
{
    char room[256];
    CHECK_INT(mmd_file_write(path_of(room, "no folder/a.vmd"), OLD, sizeof OLD), ENOENT);
    CHECK_INT(mmd_file_write("", OLD, sizeof OLD), ENOENT);
}

#ifndef _WIN32
static bool exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file;
}

static void die(void)
{
    _Exit(3);
}

static void a_process_that_dies_keeps_the_old_file(void)
{
    char room[256], left[320];
    const char *path = path_of(room, "dead.vmd");
    char *bytes = new_contents();
    for (long step = 0; step <= STEPS; step++) {
        CHECK_INT(mmd_file_write(path, OLD, sizeof OLD), 0);
        pid_t child = fork();
        if (child == 0) {
            mmd_file_fail_after(step, die);
            mmd_file_write(path, bytes, NEW);
            _Exit(4);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_INT(WEXITSTATUS(status), step < STEPS ? 3 : 4);
        CHECK(contains(path, step < STEPS ? OLD : bytes, step < STEPS ? sizeof OLD : NEW));
        sprintf(left, "%s.%ld-0.mmdskin-new", path, (long)child);
        CHECK(exists(left) == (step > 0 && step < STEPS));
        CHECK_INT(mmd_file_write(path, OLD, sizeof OLD), 0);
        CHECK(!exists(left));
    }
    free(bytes);
    remove(path);
}

static void a_file_that_is_being_written_is_not_taken_for_a_leftover(void)
{
    char room[256], one[320], foreign[320];
    const char *path = path_of(room, "busy.vmd");
    sprintf(one, "%s.1-0.mmdskin-new", path);
    sprintf(foreign, "%s.mine-0.mmdskin-new", path);
    FILE *busy = fopen(one, "wb"), *other = fopen(foreign, "wb");
    CHECK_INT(flock(fileno(busy), LOCK_EX), 0);
    CHECK_INT(mmd_file_write(path, OLD, sizeof OLD), 0);
    CHECK(exists(one) && exists(foreign));
    fclose(busy);
    fclose(other);
    CHECK_INT(mmd_file_write(path, OLD, sizeof OLD), 0);
    CHECK(!exists(one) && exists(foreign));
    remove(foreign);
    remove(path);
}

static const char *contended;

static void write_meanwhile(void)
{
    CHECK_INT(mmd_file_write(contended, OLD, sizeof OLD), 0);
}

static void several_writers_of_one_path_leave_each_other_alone(void)
{
    char room[256];
    contended = path_of(room, "contended.vmd");
    char *bytes = new_contents();
    for (long step = 0; step < STEPS; step++) {
        mmd_file_fail_after(step, write_meanwhile);
        CHECK_INT(mmd_file_write(contended, bytes, NEW), 0);
        CHECK(contains(contended, bytes, NEW));
    }
    free(bytes);
    remove(contended);
}

static void links_stay_and_permissions_are_kept(void)
{
    char room[256], other[256];
    const char *path = path_of(room, "target.vmd"), *link = path_of(other, "link.vmd");
    struct stat status;
    CHECK_INT(mmd_file_write(path, "", 0), 0);
    CHECK_INT(chmod(path, 0640), 0);
    remove(link);
    CHECK_INT(symlink(path, link), 0);
    CHECK_INT(mmd_file_write(link, OLD, sizeof OLD), 0);
    CHECK(contains(path, OLD, sizeof OLD));
    CHECK(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0640);
    remove(link);
    remove(path);
}

static void a_device_is_written_to_directly(void)
{
    CHECK_INT(mmd_file_write("/dev/null", OLD, sizeof OLD), 0);
    if (exists("/dev/full"))
        CHECK_INT(mmd_file_write("/dev/full", OLD, sizeof OLD), ENOSPC);
    CHECK_INT(mmd_file_write("/", OLD, sizeof OLD), EISDIR);
}

static void long_names_are_written(void)
{
    char room[400], name[256] = {0};
    for (int i = 0; i < 78; i++)
        memcpy(name + 3 * i, "\xe8\xb8\x8a", 3); /* cut between characters */
    CHECK_INT(mmd_file_write(path_of(room, name), OLD, sizeof OLD), 0);
    CHECK(contains(room, OLD, sizeof OLD));
    remove(room);
}

/* On systems whose names are any bytes: there is no character to cut before. */
static void long_names_without_a_character_are_written(void)
{
    enum { LENGTH = 240 };
    char *name = malloc(LENGTH + 1); /* AddressSanitizer sees reads before it */
    if (!name)
        return;
    memset(name, 0x80, LENGTH);
    name[LENGTH] = 0;
    int failed = mmd_file_write(name, OLD, sizeof OLD);
    CHECK(failed == EILSEQ || contains(name, OLD, sizeof OLD));
    remove(name);
    free(name);
}
#endif

void file_tests(void)
{
    RUN(a_file_is_created_and_replaced);
    RUN(a_failing_step_keeps_the_old_file);
    RUN(a_missing_folder_is_an_error);
#ifndef _WIN32
    RUN(a_process_that_dies_keeps_the_old_file);
    RUN(a_file_that_is_being_written_is_not_taken_for_a_leftover);
    RUN(several_writers_of_one_path_leave_each_other_alone);
    RUN(links_stay_and_permissions_are_kept);
    RUN(a_device_is_written_to_directly);
    RUN(long_names_are_written);
    RUN(long_names_without_a_character_are_written);
#endif
}
