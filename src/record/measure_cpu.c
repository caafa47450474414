/* measure_cpu.c - rates of the CPU: a matrix product in registers, and a triad through memory, on
 * all processors that the process may use.
 *
 * The product is C[6 x 2 vectors] += A[6 x DEPTH] * B[DEPTH x 2 vectors] over packed panels, as
 * BLAS libraries do it: 12 sums stay in registers, with 6 broadcasts and 2 loads for 12
 * multiply-adds. It is compiled for several vector lengths, one of which is chosen at run time. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/large.h"
#include "base/thread.h"
#include "record/measure.h"

enum {
    ROWS = 6,    /* of a block of C */
    COLUMNS = 2, /* vectors of a block of C */
    DEPTH = 256,
    PANELS = 16,  /* of A: they stay in the second cache */
    LONGEST = 64, /* vector, in bytes */
    ROUNDS = 7,   /* the best counts */
    ROUND_NS = 30000000,
    TRIAD_BYTES = 64 << 20, /* of each of the three arrays, of all processors together at least */
};

/* -- the product -- */

#if defined(__clang__)
#    define FAST
#else
#    define FAST __attribute__((optimize("O3", "fp-contract=fast")))
#endif

#define PRODUCT(name, scalar, bytes, attributes)                                                   \
    FAST attributes static void name(const void *a_panel, const void *b_panel, void *c_block)      \
    {                                                                                              \
        typedef scalar vector __attribute__((vector_size(bytes)));                                 \
        const scalar *a = a_panel;                                                                 \
        const vector *b = b_panel;                                                                 \
        vector sum[ROWS][COLUMNS], *c = c_block;                                                   \
        memcpy(sum, c, sizeof sum);                                                                \
        for (int k = 0; k < DEPTH; k++, a += ROWS, b += COLUMNS)                                   \
            for (int i = 0; i < ROWS; i++)                                                         \
                for (int j = 0; j < COLUMNS; j++)                                                  \
                    sum[i][j] += a[i] * b[j];                                                      \
        memcpy(c, sum, sizeof sum);                                                                \
    }

PRODUCT(product32, float, 16, )
PRODUCT(product64, double, 16, )
#ifdef KINO_HAVE_X86_SIMD
PRODUCT(product32_avx2, float, 32, __attribute__((target("avx2,fma"))))
PRODUCT(product64_avx2, double, 32, __attribute__((target("avx2,fma"))))
PRODUCT(product32_avx512, float, 64, __attribute__((target("avx512f,fma"))))
PRODUCT(product64_avx512, double, 64, __attribute__((target("avx512f,fma"))))
#endif

typedef struct level {
    void (*product32)(const void *a, const void *b, void *c);
    void (*product64)(const void *a, const void *b, void *c);
    size_t bytes; /* of a vector */
} level;

static level choose_level(void)
{
#ifdef KINO_HAVE_X86_SIMD
    if (__builtin_cpu_supports("avx512f"))
        return (level){product32_avx512, product64_avx512, 64};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (level){product32_avx2, product64_avx2, 32};
#endif
    return (level){product32, product64, 16};
}

/* -- rounds: every processor works for a while, and says how much it did -- */

typedef struct processor {
    char *memory;  /* panels of the product, arrays of the triad */
    double amount; /* of the round: operations, bytes */
    char pad[64];  /* the next one's counts are in another line of the cache */
} processor;

typedef struct rounds {
    processor *processors;
    level level;
    bool is_double;
    size_t elements; /* of an array of the triad */
} rounds;

static void multiply(void *context, unsigned worker, size_t index)
{
    (void)worker;
    const rounds *r = context;
    processor *p = &r->processors[index];
    size_t scalar = r->is_double ? sizeof(double) : sizeof(float);
    size_t lanes = r->level.bytes / scalar;
    char *b = p->memory, *c = b + (size_t)DEPTH * COLUMNS * r->level.bytes,
         *a = c + (size_t)ROWS * COLUMNS * r->level.bytes;
    void (*product)(const void *, const void *, void *) =
        r->is_double ? r->level.product64 : r->level.product32;
    int64_t end = kino__clock_ns(CLOCK_MONOTONIC) + ROUND_NS;
    uint64_t products = 0;
    do {
        for (int i = 0; i < PANELS; i++)
            product(a + (size_t)i * ROWS * DEPTH * scalar, b, c);
        products += PANELS;
    } while (kino__clock_ns(CLOCK_MONOTONIC) < end);
    p->amount = (double)products * 2 * ROWS * DEPTH * COLUMNS * (double)lanes;
}

static void triad(void *context, unsigned worker, size_t index)
{
    (void)worker;
    const rounds *r = context;
    processor *p = &r->processors[index];
    double *a = (double *)(void *)p->memory, *b = a + r->elements, *c = b + r->elements;
    for (size_t i = 0; i < r->elements; i++)
        a[i] = b[i] + 3 * c[i];
    p->amount = 3 * (double)r->elements * sizeof *a;
}

/* The best rate of all processors together, per second. */
static double best_rate(kino__pool *pool, rounds *r, kino__pool_work work)
{
    double best = 0;
    unsigned jobs = kino__pool_jobs(pool);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = kino__clock_ns(CLOCK_MONOTONIC);
        kino__pool_run(pool, jobs, work, r);
        double ns = (double)(kino__clock_ns(CLOCK_MONOTONIC) - start), amount = 0;
        for (unsigned k = 0; k < jobs; k++)
            amount += r->processors[k].amount;
        if (ns > 0 && amount / ns * 1e9 > best)
            best = amount / ns * 1e9;
    }
    return best;
}

/* "model name" of /proc/cpuinfo. */
static void name_cpu(char *name, size_t size, unsigned jobs)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    (void)snprintf(name, size, "CPU, %u processors", jobs);
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        (void)snprintf(name, size, "%.*s, %u processors", (int)strcspn(colon + 2, "\n"), colon + 2,
                       jobs);
        break;
    }
    if (file)
        (void)fclose(file);
}

static kino_status measure(kino__pool *pool, rounds *r, kino__measured *out, kino_error *err)
{
    unsigned jobs = kino__pool_jobs(pool);
    r->elements = (size_t)TRIAD_BYTES / sizeof(double);
    size_t room = 3 * r->elements * sizeof(double); /* the panels need less */
    r->processors = calloc(jobs, sizeof *r->processors);
    bool ok = r->processors != NULL;
    for (unsigned i = 0; ok && i < jobs; i++)
        ok = (r->processors[i].memory = kino__large_new(room, 1)) != NULL;
    if (ok) {
        out->fp32 = best_rate(pool, r, multiply) / 1e12;
        r->is_double = true;
        out->fp64 = best_rate(pool, r, multiply) / 1e12;
        out->memory = best_rate(pool, r, triad) / 1e9;
    }
    for (unsigned i = 0; r->processors && i < jobs; i++)
        kino__large_free(r->processors[i].memory);
    free(r->processors);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

kino_status kino__measure_cpu(kino__measured_list *list, kino_error *err)
{
    kino__pool *pool;
    KINO_TRY(kino__pool_new(0, &pool, err));
    rounds r = {.level = choose_level()};
    kino__measured *out = kino__vec_add(list);
    kino_status st = out ? KINO_OK : kino__fail_nomem(err);
    if (out) {
        *out = (kino__measured){.kind = "CPU"};
        name_cpu(out->name, sizeof out->name, kino__pool_jobs(pool));
        st = measure(pool, &r, out, err);
    }
    kino__pool_free(pool);
    return st;
}
