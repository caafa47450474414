/* itt_abi.h - the binary interface between ITT (Intel's instrumentation API) in a program and a
 * collector, in our own words.
 *
 * Each binary that uses ITT has a static part with a struct of this kind and a list of all
 * functions it could call. At its first call it loads the collector of INTEL_LIBITTNOTIFY64 and
 * hands the struct to the collector's __itt_api_init, which stores its functions. All is packed to
 * 8 bytes, as it would be anyway on 64-bit machines. Newer static parts have more behind the end.
 * */
#ifndef KINO__INJECT_ITT_ABI_H
#define KINO__INJECT_ITT_ABI_H

#include <pthread.h>
#include <stdint.h>

typedef struct kino__itt_domain {
    volatile int flags; /* 0: the static part skips calls of this domain */
    const char *name;
    void *name_wide;
    int extra1; /* the collector's: number of the domain's ranges here */
    void *extra2;
    struct kino__itt_domain *next;
} kino__itt_domain;

typedef struct kino__itt_string {
    const char *text;
    void *wide;
    int extra1; /* the collector's: number of the text in the recorder, when it is a simple one */
    void *extra2;
    struct kino__itt_string *next;
} kino__itt_string;

typedef struct kino__itt_id {
    unsigned long long d1, d2, d3; /* all 0: none */
} kino__itt_id;

typedef enum kino__itt_type {
    KINO__ITT_UNKNOWN = 0,
    KINO__ITT_U64 = 1,
    KINO__ITT_S64 = 2,
    KINO__ITT_U32 = 3,
    KINO__ITT_S32 = 4,
    KINO__ITT_U16 = 5,
    KINO__ITT_S16 = 6,
    KINO__ITT_FLOAT = 7,
    KINO__ITT_DOUBLE = 8,
} kino__itt_type;

#define KINO__ITT_NO_TIME (~0ull)

/* A function of the API, as the static part has it. */
typedef struct kino__itt_function {
    const char *name;
    void **pointer;
    void *init_function;
    void *null_function; /* does nothing */
    int group;
} kino__itt_function;

#define KINO__ITT_MAGIC "\xed\xab\xab\xec\x0d\xee\xda\x30"

typedef struct kino__itt_global {
    unsigned char magic[8];
    unsigned long version_major, version_minor, version_build;
    volatile long api_initialized, mutex_initialized, atomic_counter;
    pthread_mutex_t mutex; /* held while a collector is attached */
    void *library;
    void *error_handler;
    const char **path;
    kino__itt_function *functions; /* up to one without a name */
    struct kino__itt_global *next;
    void *threads;
    kino__itt_domain *domains; /* those made before the collector came */
    kino__itt_string *strings;
} kino__itt_global;

#endif
