/* SPDX-License-Identifier: MIT */
#ifndef MMD_FILE_H
#define MMD_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes a file whole or not at all: whatever fails, and wherever the process dies, `path` has its
   old contents or the new ones.

   The bytes go to a new file beside it, <name>.<process>-<number>.mmdskin-new, which is flushed to
   the disk and renamed. That file is locked until then; the next write to the same path removes
   those of processes that died. On Windows, which renames no file that is open, it is locked while
   it is open, and stays for a minute after that. A file that is replaced keeps its
   permissions, and a symbolic link stays one (not on Windows). A device or a pipe is written to
   directly.

   `path` is UTF-8 on Windows and the system's bytes elsewhere. Returns 0 or an errno: ENOENT
   without the folder, EISDIR or EACCES for a folder, EACCES for a file that may not be written,
   ENOSPC for a full disk. */
int mmd_file_write(const char *path, const void *bytes, size_t size);

#ifdef MMD_TEST_FAULTS
/* Makes one step of writing a file fail, after `count` that succeed (create, write, flush, close,
   rename); none if the count is negative. With `call` that step calls it first, and succeeds. */
void mmd_file_fail_after(long count, void (*call)(void));
#endif

#endif
