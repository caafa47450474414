/* copies.c - two copies of the library in one process: one linked into the program, one loaded.
 *
 *   copies LIBKINO_SO OUT */
#include <dlfcn.h>
#include <stdio.h>

#include <kino/kino.h>

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
    if (!other)
        return 1;
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
