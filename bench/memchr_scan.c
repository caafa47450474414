/* memchr_scan.c - the limit: how fast can libc look at every byte of the file? tools/run-bench
 * calls it.
 *
 * A load cannot be faster than a search for a byte that never comes, over the same mapping, opened
 * and cut into chunks as the reader does it. The search goes on behind a byte that does occur, so
 * every byte is always looked at, and the number of finds is printed, so the compiler cannot leave
 * the work out. */
#include "base/file.h"
#include "base/thread.h"
#include "bench.h"

enum { CHUNK = 4 << 20, NEEDLE = 0x01 };

typedef struct scan {
    kino__file file;
    uint64_t found;
} scan;

static void scan_chunk(void *context, unsigned worker, size_t index)
{
    scan *s = context;
    (void)worker;
    size_t begin = index * CHUNK;
    size_t size = s->file.size - begin < CHUNK ? s->file.size - begin : CHUNK;
    kino__file_will_need(&s->file, begin, size);
    const char *at = s->file.data + begin;
    const char *end = at + size;
    uint64_t found = 0;
    while (at < end && (at = memchr(at, NEEDLE, (size_t)(end - at)))) {
        found++;
        at++;
    }
    __atomic_fetch_add(&s->found, found, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
    bench_options options = bench_parse(argc, argv);
    bench_result result = {.bench = "memchr_scan"};
    kino_error err = {0};
    kino__pool *pool = NULL;
    if (kino__pool_new(options.jobs, &pool, &err) != KINO_OK)
        bench_die("no threads:", err.message);
    result.jobs = kino__pool_jobs(pool);
    bench_warm(options.path);
    scan s = {0};
    for (unsigned pass = 0; pass < options.passes; pass++) {
        s.found = 0;
        bench_pass_begin(&result);
        if (kino__file_open(options.path, &s.file, &err) != KINO_OK)
            bench_die("cannot open:", err.message);
        kino__pool_run(pool, (s.file.size + CHUNK - 1) / CHUNK, scan_chunk, &s);
        bench_pass_end(&result);
        result.bytes = s.file.size;
        kino__file_close(&s.file);
    }
    bench_add_check(&result, "found", s.found);
    kino__pool_free(pool);
    bench_print(&result);
    return 0;
}
