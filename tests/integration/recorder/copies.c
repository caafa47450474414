/* copies.c - two copies of the library in one process: one linked into the program, one loaded.
 *
 *   copies LIBKINO_SO OUT */
#include <dlfcn.h>
#include <stdio.h>

#include <kino/kino.h>
#include <kino/record_function.h>

static int heard;

static void *hear(const kino_record_function *fn, void *user)
{
    (void)fn;
    (void)user;
    heard++;
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    kino_error error = {0};
    if (kino_prepare(NULL, &error) != KINO_OK || kino_start(&error) != KINO_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    void *other = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!other) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    kino_span (*begin)(const char *, const char *) = NULL;
    void (*end)(kino_span) = NULL;
    kino_status (*prepare)(const kino_session_options *, kino_error *) = NULL;
    *(void **)&begin = dlsym(other, "kino_begin");
    *(void **)&end = dlsym(other, "kino_end");
    *(void **)&prepare = dlsym(other, "kino_prepare");
    if (begin == kino_begin)
        return 1; /* not another copy */
    {
        KINO_ZONE("of the program");
        kino_span span = begin("of the other copy", "cpu_op");
        kino_span mine = kino_begin("ended by the other copy", "cpu_op");
        end(mine);
        kino_end(span);
    }
    /* one registry of record functions: who listens through one copy hears functions of both */
    kino_status (*add)(const kino_record_callback *, uint64_t *, kino_error *) = NULL;
    uint64_t (*thread_of)(void) = NULL;
    bool (*open)(kino_record_function *, kino_record_scope) = NULL;
    void (*begin_named)(kino_record_function *, const char *) = NULL;
    void (*finish)(kino_record_function *) = NULL;
    *(void **)&add = dlsym(other, "kino_record_add_global");
    *(void **)&thread_of = dlsym(other, "kino_record_thread");
    *(void **)&open = dlsym(other, "kino_impl_v1_record_open");
    *(void **)&begin_named = dlsym(other, "kino_record_start_named");
    *(void **)&finish = dlsym(other, "kino_impl_v1_record_end");
    if (!add || !thread_of || !open || !begin_named || !finish)
        return 1;
    kino_record_callback listener = KINO_RECORD_CALLBACK_INIT;
    listener.start = hear;
    if (add(&listener, NULL, &error) != KINO_OK || thread_of() != kino_record_thread())
        return 1;
    kino_record_function fn;
    if (kino_record_open(&fn, KINO_SCOPE_FUNCTION)) {
        kino_record_start_named(&fn, "function of the program");
        kino_record_end(&fn);
    }
    if (heard != 1)
        return 1;
    if (open(&fn, KINO_SCOPE_FUNCTION)) {
        begin_named(&fn, "function of the other copy");
        finish(&fn);
    }
    if (heard != 2)
        return 1;
    /* there is one session, and the other copy knows */
    if (prepare(NULL, &error) != KINO_UNAVAILABLE)
        return 1;
    dlclose(other);
    if (kino_stop(&error) != KINO_OK || kino_save(argv[2], &error) != KINO_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    return 0;
}
