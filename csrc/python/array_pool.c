/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* for MAP_ANONYMOUS */
#define _DARWIN_C_SOURCE
#include "python/array.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <sys/mman.h>
#endif

/* Pages of the system, with their size in front of the data. */
typedef union block {
    size_t size;
    char cache_line[64];
} block;

enum { KEPT_BLOCKS = 16, KEPT_BYTES = 1 << 26, PAGE = 1 << 12, LARGE = 1 << 22 };
/* More is kept where one result is larger: positions, normals and tangents. */
enum { ARRAYS_OF_A_RESULT = 3 };

static struct {
    atomic_flag busy;
    int count;
    size_t bytes, last; /* of the blocks that are kept; of the last one that was asked for */
    block *blocks[KEPT_BLOCKS]; /* the oldest first */
} pool = {.busy = ATOMIC_FLAG_INIT};

/* Nobody waits for the pool: who finds it busy does without, also where a fork left it busy. */
static bool enter(void)
{
    return !atomic_flag_test_and_set_explicit(&pool.busy, memory_order_acquire);
}

static void leave(void)
{
    atomic_flag_clear_explicit(&pool.busy, memory_order_release);
}

static block *get_pages(size_t size)
{
#ifdef _WIN32
    block *pages = VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
#else
    block *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
#endif
#ifdef MADV_HUGEPAGE /* halves what new pages take */
    if (pages && size >= LARGE)
        madvise(pages, size, MADV_HUGEPAGE);
#endif
    if (pages)
        pages->size = size;
    return pages;
}

static void free_pages(block *pages)
{
#ifdef _WIN32
    VirtualFree(pages, 0, MEM_RELEASE);
#else
    munmap(pages, pages->size);
#endif
}

/* Eight sizes between a power of two and the next, so that batches of about the same length share
   blocks. Pages that are never touched take no memory. */
static size_t block_size(size_t data)
{
    size_t step = PAGE;
    while (step < data / 16)
        step *= 2;
    return (data + sizeof(block) + step - 1) / step * step;
}

static block *take(int i)
{
    block *taken = pool.blocks[i];
    pool.count--;
    memmove(pool.blocks + i, pool.blocks + i + 1, (size_t)(pool.count - i) * sizeof *pool.blocks);
    pool.bytes -= taken->size;
    return taken;
}

static void shrink(size_t bytes)
{
    while (pool.bytes > bytes)
        free_pages(take(0));
}

/* A block that is kept, or NULL. Then the others make room: results may have another size now. */
static block *find(size_t size)
{
    pool.last = size;
    for (int i = pool.count - 1; i >= 0; i--)
        if (pool.blocks[i]->size == size)
            return take(i);
    shrink(size < KEPT_BYTES ? KEPT_BYTES - size : 0);
    return NULL;
}

void *mmd_py_array_pool_malloc(void *unused, size_t size)
{
    (void)unused;
    if (size > SIZE_MAX / 2)
        return NULL;
    size = block_size(size);
    block *found = NULL;
    if (enter()) {
        found = find(size);
        leave();
    }
    if (!found)
        found = get_pages(size);
    return found ? found + 1 : NULL;
}

void *mmd_py_array_pool_calloc(void *unused, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    void *data = mmd_py_array_pool_malloc(unused, count * size);
    return data ? memset(data, 0, count * size) : NULL;
}

void mmd_py_array_pool_free(void *unused, void *data, size_t size)
{
    (void)unused, (void)size;
    if (!data)
        return;
    block *freed = (block *)data - 1;
    if (enter()) {
        size_t result = ARRAYS_OF_A_RESULT * pool.last;
        size_t most = result > KEPT_BYTES ? result : KEPT_BYTES;
        if (freed->size <= most) {
            shrink(most - freed->size);
            if (pool.count == KEPT_BLOCKS)
                free_pages(take(0));
            pool.blocks[pool.count++] = freed;
            pool.bytes += freed->size;
            freed = NULL;
        }
        leave();
    }
    if (freed)
        free_pages(freed);
}

void *mmd_py_array_pool_realloc(void *unused, void *data, size_t size)
{
    if (!data)
        return mmd_py_array_pool_malloc(unused, size);
    size_t before = ((block *)data - 1)->size;
    if (size <= SIZE_MAX / 2 && block_size(size) == before)
        return data;
    void *moved = mmd_py_array_pool_malloc(unused, size);
    if (moved) {
        memcpy(moved, data, size < before - sizeof(block) ? size : before - sizeof(block));
        mmd_py_array_pool_free(unused, data, 0);
    }
    return moved;
}

void mmd_py_array_pool_empty(void)
{
    if (enter()) {
        shrink(0);
        leave();
    }
}
