/* record_nvtx.c - what an NVTX range costs in a recorded program, beside a zone of libkino in the
 * same run.
 *
 *   bench_record_nvtx --inject PATH/libkino_inject.so
 *
 * The program attaches the library as NVTX's header would, and calls through the same pointers.
 * Texts are given each time, as most programs do; a registered string is measured, too. Each round
 * measures all; the best round of each counts, the ratio is of the best. */
#include <dlfcn.h>

#include <kino/kino.h>

#include "bench.h"
#include "inject/nvtx_abi.h"

enum { ROUNDS = 30, PAIRS = 20000, SLOTS = 16 };

static kino__nvtx_function core[SLOTS], core2[SLOTS];

static int module_table(int module, kino__nvtx_function ***out, unsigned *count)
{
    static kino__nvtx_function *slots[2][SLOTS];
    int which = module == KINO__NVTX_CORE2;
    for (int i = 1; i < SLOTS; i++)
        slots[which][i] = which ? &core2[i] : &core[i];
    *out = slots[which];
    *count = SLOTS;
    return 1;
}

static const void *get_table(uint32_t table)
{
    static const kino__nvtx_callbacks callbacks = {sizeof callbacks, module_table};
    return table == KINO__NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static bool attach(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    void *symbol = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    int (*entry)(kino__nvtx_get_table) = NULL;
    memcpy(&entry, &symbol, sizeof entry);
    return entry && entry(get_table) && core[9] && core[11] && core[8];
}

static double ns_of_one(double seconds)
{
    return seconds * 1e9 / PAIRS;
}

static double zones(void)
{
    double begin = bench_wall();
    for (int i = 0; i < PAIRS; i++) {
        KINO_ZONE("a range like many");
    }
    return ns_of_one(bench_wall() - begin);
}

static double texts(void)
{
    int (*push)(const char *) = (int (*)(const char *))core[9];
    int (*pop)(void) = (int (*)(void))core[11];
    double begin = bench_wall();
    for (int i = 0; i < PAIRS; i++) {
        (void)push("a range like many");
        (void)pop();
    }
    return ns_of_one(bench_wall() - begin);
}

static double registered(const void *name)
{
    int (*push)(const kino__nvtx_attributes *) = (int (*)(const kino__nvtx_attributes *))core[8];
    int (*pop)(void) = (int (*)(void))core[11];
    kino__nvtx_attributes a = {
        .version = 3, .size = sizeof a, .message_type = KINO__NVTX_MESSAGE_REGISTERED};
    a.message.registered = name;
    double begin = bench_wall();
    for (int i = 0; i < PAIRS; i++) {
        (void)push(&a);
        (void)pop();
    }
    return ns_of_one(bench_wall() - begin);
}

/* Session by session, so that no buffer is ever full. */
static int measure(const void *name, double *zone, double *text, double *handle)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error err;
    options.budget_bytes = 16u << 20;
    for (int i = 0; i < ROUNDS; i++) {
        if (kino_prepare(&options, &err) != KINO_OK || kino_start(&err) != KINO_OK) {
            (void)fprintf(stderr, "bench_record_nvtx: %s\n", err.message);
            return 1;
        }
        (void)texts(); /* the thread has its segment, the name is known */
        (void)zones();
        bench_keep_best(zone, zones());
        bench_keep_best(text, texts());
        bench_keep_best(handle, registered(name));
        kino_discard();
    }
    return 0;
}

int main(int argc, char **argv)
{
    double zone = 0, text = 0, handle = 0, off = 0;
    if (argc != 3 || strcmp(argv[1], "--inject") != 0 || !attach(argv[2])) {
        const char *why = argc == 3 ? dlerror() : NULL;
        (void)fprintf(stderr, "bench_record_nvtx: --inject PATH/libkino_inject.so%s%s\n",
                      why ? ": " : "", why ? why : "");
        return 1;
    }
    const void *(*add)(const void *, const char *) =
        (const void *(*)(const void *, const char *))core2[10];
    const void *name = add(NULL, "a registered range");
    for (int i = 0; i < ROUNDS; i++)
        bench_keep_best(&off, texts());
    if (measure(name, &zone, &text, &handle))
        return 1;
    printf("{\"pair_ns\": %.2f, \"nvtx_ns\": %.2f, \"registered_ns\": %.2f, \"off_ns\": %.2f, "
           "\"nvtx_to_pair\": %.3f}\n",
           zone, text, handle, off, text / zone);
    return 0;
}
