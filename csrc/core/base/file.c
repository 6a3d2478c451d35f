/* SPDX-License-Identifier: MIT */
/* Writes files whole or not at all. */
#define _XOPEN_SOURCE 700
#define _DARWIN_C_SOURCE /* flock, F_FULLFSYNC */
#include "core/base/file.h"

#include "core/base/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The end of a new file's name, and how much of the name that it is for stands before it: file
   systems limit names to 255 bytes. */
static const char ENDING[] = ".mmdskin-new";
enum { KEPT = 200, ROOM = KEPT + 48, CHUNK = 1 << 20, ATTEMPTS = 100 };

/* A path as bytes with '/' (or '\\') between folder and name. */
typedef struct location {
    const char *path;
    size_t folder; /* bytes of the folder with the separator; 0: the current one */
    size_t kept;   /* bytes of the name that the new file's name starts with */
} location;

static bool is_separator(char c)
{
#ifdef _WIN32
    return c == '/' || c == '\\' || c == ':';
#else
    return c == '/';
#endif
}

static location split_path(const char *path)
{
    location at = {path, strlen(path), 0};
    size_t size = at.folder;
    while (at.folder && !is_separator(path[at.folder - 1]))
        at.folder--;
    const char *name = path + at.folder;
    at.kept = size - at.folder;
    if (at.kept > KEPT)
        for (at.kept = KEPT; at.kept && ((unsigned char)name[at.kept] & 0xC0) == 0x80;)
            at.kept--; /* to a whole character of UTF-8, if the name has any */
    return at;
}

/* Whether a file of the folder was created to become the file at `at`. */
static bool is_new_file(const location *at, const char *name)
{
    if (strncmp(name, at->path + at->folder, at->kept) != 0 || name[at->kept] != '.')
        return false;
    const char *rest = name + at->kept + 1;
    size_t digits = strspn(rest, "0123456789");
    if (!digits || rest[digits] != '-')
        return false;
    rest += digits + 1;
    digits = strspn(rest, "0123456789");
    return digits && strcmp(rest + digits, ENDING) == 0;
}

#ifdef MMD_TEST_FAULTS
static long fail_after = -1;
static void (*call_at_step)(void);

void mmd_file_fail_after(long count, void (*call)(void))
{
    fail_after = count;
    call_at_step = call;
}

/* True if this step has to fail. */
static bool must_fail(void)
{
    if (fail_after < 0 || fail_after-- > 0)
        return false;
    if (call_at_step)
        call_at_step();
    errno = ENOSPC;
    return !call_at_step;
}
#else
static bool must_fail(void)
{
    return false;
}
#endif

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <share.h>
#include <sys/stat.h>

static int errno_of(DWORD error)
{
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
        return EACCES;
    case ERROR_DISK_FULL:
        return ENOSPC;
    default:
        return EIO;
    }
}

/* NULL with errno. */
static wchar_t *to_utf16(mmd_arena *arena, const char *path)
{
    int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
    wchar_t *result = size ? mmd_arena_alloc(arena, (size_t)size, sizeof *result) : NULL;
    if (result)
        MultiByteToWideChar(CP_UTF8, 0, path, -1, result, size);
    errno = size ? ENOMEM : EINVAL;
    return result;
}

/* The lock is that nobody else may open or delete the file. */
static int create(mmd_arena *arena, const char *path)
{
    wchar_t *name = to_utf16(arena, path);
    int fd = -1;
    if (name && !must_fail())
        errno = _wsopen_s(&fd, name, _O_CREAT | _O_EXCL | _O_WRONLY | _O_BINARY | _O_NOINHERIT,
                          _SH_DENYRW, _S_IREAD | _S_IWRITE);
    return fd;
}

static bool write_chunk(int fd, const char *bytes, size_t size, size_t *written)
{
    int done = _write(fd, bytes, (unsigned)size);
    *written = done > 0 ? (size_t)done : 0;
    return done > 0;
}

static bool flush(int fd)
{
    return _commit(fd) == 0; /* FlushFileBuffers */
}

static bool close_file(int fd)
{
    return _close(fd) == 0;
}

static bool replace(mmd_arena *arena, const char *from, const char *to)
{
    wchar_t *old = to_utf16(arena, from), *new = old ? to_utf16(arena, to) : NULL;
    if (!new)
        return false;
    if (MoveFileExW(old, new, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        return true;
    errno = errno_of(GetLastError());
    return false;
}

static void delete_file(mmd_arena *arena, const char *path)
{
    wchar_t *name = to_utf16(arena, path);
    if (name)
        DeleteFileW(name);
}

/* A finished file is closed before it is renamed, so one that is fresh may still be needed. */
static bool is_fresh(const FILETIME *written)
{
    static const ULONGLONG minute = 600000000; /* in units of 100 ns */
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    ULONGLONG from = (ULONGLONG)written->dwHighDateTime << 32 | written->dwLowDateTime;
    ULONGLONG to = (ULONGLONG)now.dwHighDateTime << 32 | now.dwLowDateTime;
    return to < from + minute;
}

static void remove_leftovers(mmd_arena *arena, const location *at)
{
    char *pattern = mmd_arena_alloc(arena, at->folder + at->kept + sizeof ENDING + 8, 1);
    if (!pattern)
        return;
    sprintf(pattern, "%.*s.*%s", (int)(at->folder + at->kept), at->path, ENDING);
    wchar_t *wanted = to_utf16(arena, pattern);
    WIN32_FIND_DATAW found;
    HANDLE search = wanted ? FindFirstFileW(wanted, &found) : INVALID_HANDLE_VALUE;
    if (search == INVALID_HANDLE_VALUE)
        return;
    do {
        char name[4 * MAX_PATH];
        if (!WideCharToMultiByte(CP_UTF8, 0, found.cFileName, -1, name, sizeof name, NULL, NULL) ||
            !is_new_file(at, name) || is_fresh(&found.ftLastWriteTime))
            continue;
        char *path = mmd_arena_alloc(arena, at->folder + strlen(name) + 1, 1);
        if (path) {
            memcpy(path, at->path, at->folder);
            strcpy(path + at->folder, name);
            delete_file(arena, path); /* not one that is open */
        }
    } while (FindNextFileW(search, &found));
    FindClose(search);
}

static unsigned long process_number(void)
{
    return (unsigned long)_getpid();
}

/* Everything is replaced, and replace() says what may not be. */
static int resolve(mmd_arena *arena, const char **path, bool *direct)
{
    (void)arena, (void)path, (void)direct;
    return 0;
}

static void keep_permissions(int fd, const char *path)
{
    (void)fd, (void)path;
}

static int open_directly(const char *path)
{
    (void)path;
    return -1;
}

static void flush_folder(mmd_arena *arena, const location *at)
{
    (void)arena, (void)at;
}

/* A file with a handle cannot be renamed. */
static int keep_locked(int fd)
{
    (void)fd;
    return -1;
}

static void unlock(int lock)
{
    (void)lock;
}
#else
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A locked new file; -1 with errno. */
static int create(mmd_arena *arena, const char *path)
{
    (void)arena;
    int fd = must_fail() ? -1 : open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    struct stat status;
    flock(fd, LOCK_EX); /* without locks, leftovers cannot be told and stay */
    if (fstat(fd, &status) == 0 && status.st_nlink)
        return fd;
    close(fd); /* taken for a leftover before it was locked */
    errno = EEXIST;
    return -1;
}

static bool write_chunk(int fd, const char *bytes, size_t size, size_t *written)
{
    ssize_t done = write(fd, bytes, size);
    *written = done > 0 ? (size_t)done : 0;
    return done > 0 || (done < 0 && errno == EINTR);
}

static bool flush(int fd)
{
#ifdef F_FULLFSYNC
    if (fcntl(fd, F_FULLFSYNC) == 0)
        return true;
#endif
    return fsync(fd) == 0;
}

static bool close_file(int fd)
{
    return close(fd) == 0;
}

static bool replace(mmd_arena *arena, const char *from, const char *to)
{
    (void)arena;
    return rename(from, to) == 0;
}

static void delete_file(mmd_arena *arena, const char *path)
{
    (void)arena;
    unlink(path);
}

/* The folder of a location; NULL when memory is short. */
static char *folder_of(mmd_arena *arena, const location *at)
{
    char *folder = mmd_arena_alloc(arena, at->folder + 2, 1);
    if (folder && at->folder)
        memcpy(folder, at->path, at->folder);
    else if (folder)
        folder[0] = '.';
    return folder;
}

static void remove_leftover(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    /* It may have been renamed before it was locked, and the name be that of its writer's next. */
    struct stat locked, named;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &locked) == 0 &&
        fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && locked.st_ino == named.st_ino &&
        locked.st_dev == named.st_dev)
        unlinkat(folder, name, 0);
    close(fd);
}

static void remove_leftovers(mmd_arena *arena, const location *at)
{
    const char *folder = folder_of(arena, at);
    DIR *entries = folder ? opendir(folder) : NULL;
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries));)
        if (is_new_file(at, entry->d_name))
            remove_leftover(dirfd(entries), entry->d_name);
    closedir(entries);
}

static unsigned long process_number(void)
{
    return (unsigned long)getpid();
}

/* Follows a symbolic link, and tells what is written to directly. Returns 0 or an errno. */
static int resolve(mmd_arena *arena, const char **path, bool *direct)
{
    struct stat status;
    if (lstat(*path, &status) != 0)
        return errno == ENOENT ? 0 : errno;
    if (S_ISLNK(status.st_mode)) {
        char *target = realpath(*path, NULL);
        char *kept = target ? mmd_arena_alloc(arena, strlen(target) + 1, 1) : NULL;
        if (kept)
            *path = strcpy(kept, target);
        int failed = target ? ENOMEM : errno;
        free(target);
        if (!kept)
            return failed;
    }
    if (stat(*path, &status) != 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    *direct = !S_ISREG(status.st_mode);
    return access(*path, W_OK) == 0 ? 0 : errno;
}

/* As good as this process may: a file of another user may become its own. */
static void keep_permissions(int fd, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return;
    if (fchown(fd, status.st_uid, status.st_gid) == 0 || status.st_uid == geteuid())
        (void)!fchmod(fd, status.st_mode & 07777);
}

static int open_directly(const char *path)
{
    return open(path, O_WRONLY | O_CLOEXEC);
}

/* Else the new name may be lost with the power, and the old file be there again. */
static void flush_folder(mmd_arena *arena, const location *at)
{
    const char *folder = folder_of(arena, at);
    int fd = folder ? open(folder, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

/* A descriptor that keeps the lock when the file is closed; -1: none. */
static int keep_locked(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static void unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}
#endif

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        size_t written, chunk = size < CHUNK ? size : CHUNK;
        if (must_fail() || !write_chunk(fd, bytes, chunk, &written))
            return false;
        bytes += written;
        size -= written;
    }
    return true;
}

/* Writes, closes the file in any case, and returns 0 or an errno. */
static int write_and_close(int fd, const void *bytes, size_t size, bool flushed)
{
    bool done = write_all(fd, bytes, size) && (!flushed || (!must_fail() && flush(fd)));
    int failed = done ? 0 : errno ? errno : EIO;
    if ((!close_file(fd) || must_fail()) && !failed)
        failed = errno;
    return failed;
}

/* Creates the file beside `at` and puts its path into `out`. -1 with errno. */
static int create_beside(mmd_arena *arena, const location *at, char *out)
{
    size_t kept = at->folder + at->kept;
    memcpy(out, at->path, kept);
    int fd = -1;
    for (int number = 0; fd < 0 && number < ATTEMPTS; number++) {
        snprintf(out + kept, ROOM, ".%lu-%d%s", process_number(), number, ENDING);
        fd = create(arena, out);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

static int write_beside(mmd_arena *arena, const char *path, const void *bytes, size_t size)
{
    location at = split_path(path);
    char *beside = mmd_arena_alloc(arena, at.folder + at.kept + ROOM, 1);
    if (!beside)
        return ENOMEM;
    remove_leftovers(arena, &at);
    int fd = create_beside(arena, &at, beside);
    if (fd < 0)
        return errno;
    keep_permissions(fd, path);
    int lock = keep_locked(fd); /* else it is a leftover from close to rename */
    int failed = write_and_close(fd, bytes, size, true);
    if (!failed && (must_fail() || !replace(arena, beside, path)))
        failed = errno;
    if (failed)
        delete_file(arena, beside);
    else
        flush_folder(arena, &at);
    unlock(lock);
    return failed;
}

int mmd_file_write(const char *path, const void *bytes, size_t size)
{
    mmd_arena arena = {0};
    bool direct = false;
    int failed = resolve(&arena, &path, &direct);
    if (!failed && direct) {
        int fd = open_directly(path);
        failed = fd < 0 ? errno : write_and_close(fd, bytes, size, false);
    } else if (!failed)
        failed = write_beside(&arena, path, bytes, size);
    mmd_arena_free(&arena);
    return failed;
}
