/* metrics_internal.h - for the files of monitoring: things, their numbers, collectors.
 *
 *   class   what all things of a kind have: "disk" has read_bytes, writes, ...; static const
 *   thing   one of them, with its labels and values: device="sda"; made when it is first seen
 *   value   an integer with a fixed number of decimal digits; KINO_NO_INT: not known
 *
 * A new collector:
 *   1. src/daemon/metrics_<name>.c with its classes and the kino__collector_<name>
 *   2. COLLECTOR(<name>) in src/daemon/collectors.def
 *   3. parsers of texts into metrics_text.c and fuzz/proc_texts.c; hand-made texts with hand-worked
 *      numbers into tests/unit/daemon/test_metrics_*.c
 *   4. the names into docs/formats/metrics.md (a test compares them) */
#ifndef KINO__DAEMON_METRICS_INTERNAL_H
#define KINO__DAEMON_METRICS_INTERNAL_H

#include "base/vec.h"
#include "daemon/metrics.h"

/* -- what there is -- */

typedef enum kino__metric_kind {
    KINO__GAUGE,
    KINO__COUNTER,        /* 64 bits; less than before: it was reset, this interval is not known */
    KINO__COUNTER_WRAP32, /* may be 32 bits wide: near the end, then near 0, is a wrap */
    KINO__COUNTER_SHAKY,  /* may step back a little (idle times): a step of nothing */
} kino__metric_kind;

typedef struct kino__metric {
    const char *key;  /* its name in JSON and of its track */
    const char *name; /* its name in Prometheus, without "kino_" */
    const char
        *label; /* a label of its own there, `mode="user"`; NULL: none. Neighbours with the same
                        * name are one family */
    const char *help;
    kino__metric_kind kind;
    unsigned digits;  /* decimal digits behind the point that a value holds */
    bool has_history; /* gauges their value, counters their rate */
} kino__metric;

typedef struct kino__metric_class {
    const char *name; /* its name in JSON */
    const kino__metric *metrics;
    unsigned count;
    unsigned most; /* things; further ones are left out, and counted */
} kino__metric_class;

typedef struct kino__metric_value {
    int64_t total;  /* a gauge's value; a counter's sum, which goes back at a reset only */
    int64_t before; /* a counter as it was read, for the difference */
    int64_t rate;   /* of a counter per second, with kino__metric_rate_digits; KINO_NO_INT */
    uint64_t seen;  /* the number of the sample that had it last */
} kino__metric_value;

enum { KINO__LABEL_SIZE = 64, KINO__THING_KEY = 128, KINO__METRICS_HISTORY_BYTES = 2 << 20 };

typedef struct kino__thing {
    const kino__metric_class *class;
    char key[KINO__THING_KEY];  /* what it is found by, inside its class */
    char *labels, *json_labels; /* `device="sda"`, `"device":"sda"`; NULL: none */
    bool has_owner;             /* it is of a user's process: others do not see it */
    uid_t owner;
    bool is_hidden;             /* known to be of no interest: kept, but not shown */
    bool is_new;                /* made in this sample: the collector adds its labels */
    uint64_t seen, seen_before; /* the numbers of the samples that had it last */
    int64_t read_ns, read_before_ns;
    int64_t *history; /* one ring of samples per metric with history, one behind the other; NULL */
    kino__metric_value values[];
} kino__thing;

typedef KINO__VEC(kino__thing *) kino__thing_list;

/* -- who looks -- */

typedef struct kino__collector {
    const char *name;
    const char *help;
    const kino__metric_class *const *classes; /* ends with NULL */
    const char *file; /* behind /proc, for kino__collector_open_file; NULL: none of that kind */
    size_t state_size;
    /* Opens what is read again and again. False: not available here; kino__collector_miss has
     * said why. */
    bool (*open)(void *state, kino__metrics *metrics);
    void (*sample)(void *state, kino__metrics *metrics);
    void (*close)(
        void *state); /* also after open failed; of a zeroed state, too. NULL: nothing to do */
} kino__collector;

#define COLLECTOR(name) extern const kino__collector kino__collector_##name;
#include "daemon/collectors.def"
#undef COLLECTOR

enum {
#define COLLECTOR(name) KINO__COLLECTOR_##name,
#include "daemon/collectors.def"
#undef COLLECTOR
    KINO__COLLECTOR_COUNT
};

extern const kino__collector *const kino__collectors[KINO__COLLECTOR_COUNT];

enum { KINO__MISS_SIZE = 160 };

typedef struct kino__collector_slot {
    void *state;
    bool is_open;
    char reason[KINO__MISS_SIZE]; /* why (some of) it is missing; "" */
} kino__collector_slot;

/* -- what a registered process is known by; metrics_attribution.c -- */

enum { KINO__CGROUP_SIZE = 256 };

typedef struct kino__attribution {
    char command[KINO__LABEL_SIZE];
    char user[KINO__LABEL_SIZE], slurm_job[KINO__LABEL_SIZE], account[KINO__LABEL_SIZE],
        partition[KINO__LABEL_SIZE], pod[KINO__LABEL_SIZE], namespace[KINO__LABEL_SIZE],
        pod_uid[KINO__LABEL_SIZE];
    char container[KINO__LABEL_SIZE + 1]; /* its id: 64 digits */
    char rank[KINO__LABEL_SIZE];
    char reason[KINO__LABEL_SIZE]; /* why the environment is not known; "" */
} kino__attribution;

typedef struct kino__watched {
    kino__metrics_process process;
    kino__attribution attribution;
    char cgroup_v2[KINO__CGROUP_SIZE], cgroup_memory[KINO__CGROUP_SIZE],
        cgroup_cpu[KINO__CGROUP_SIZE],
        cgroup_cpuacct[KINO__CGROUP_SIZE]; /* paths inside their hierarchies; "" */
} kino__watched;

/* -- the whole -- */

struct kino__metrics {
    kino__metrics_settings settings;
    char *proc, *sys;
    kino__collector_slot slots[KINO__COLLECTOR_COUNT];
    unsigned collector; /* whose turn it is */
    int64_t tick_ns;    /* of times in /proc */
    int64_t page_bytes;

    KINO__VEC(const kino__metric_class *) classes;
    kino__thing_list *things; /* of each class, in the order of their appearance */
    size_t *cursors;          /* of each class: where the next one is expected */
    size_t left_out;          /* things beyond their class's limit */
    size_t history_bytes;

    uint64_t samples; /* taken so far; the number of the one being taken, from 1 */
    int64_t now_ns, real_ns,
        interval_ns;  /* of the newest; interval_ns is KINO_NO_INT at the first */
    int64_t began_ns; /* CLOCK_MONOTONIC when the newest began: for what it costs */
    int64_t *times_ns, *real_times_ns; /* of the history, rings */

    kino__watched *watched;
    size_t watched_count;
    uint64_t watched_changes; /* goes up with each change of the list */
    kino__metrics_daemon daemon;

    char *scratch; /* for texts, while a collector works */
    size_t scratch_size;
};

/* Says why the collector whose turn it is has nothing, or not all; the first reason of a sample
 * stays. */
void kino__collector_miss(kino__metrics *metrics, const char *format, ...) KINO_PRINTF(2, 3);
/* The same, with the text of an errno value behind it. */
void kino__collector_miss_errno(kino__metrics *metrics, int errno_value, const char *what);

/* -- things and values, for collectors -- */

/* The thing of that key, made when it is new: then is_new holds, and labels are wanted. NULL: there
 * are too many, or there is no memory. Marks it as seen, and forgets its gauges. */
kino__thing *kino__metrics_thing(kino__metrics *metrics, const kino__metric_class *class,
                                 kino_str key);
/* It has no history from now on. */
void kino__thing_forget_history(kino__metrics *metrics, kino__thing *thing);
/* It is of no interest: no output shows it, and it has no history. */
void kino__thing_hide(kino__metrics *metrics, kino__thing *thing);
void kino__thing_label(kino__thing *thing, const char *name, kino_str value);
/* Whose it is; with each sample, since that may change. */
static inline void kino__thing_own(kino__thing *thing, uid_t owner)
{
    thing->has_owner = true;
    thing->owner = owner;
}
void kino__thing_gauge(kino__thing *thing, unsigned metric, int64_t value);
/* A counter as it reads now. */
void kino__thing_count(kino__thing *thing, unsigned metric, int64_t now);
/* The same when the things themselves were read at another time than the sample's begin. */
void kino__thing_read_at(kino__thing *thing, int64_t ns);
/* Counts `late` at once, without being part of any rate: it happened before it could be seen. */
void kino__thing_count_late(kino__thing *thing, unsigned metric, int64_t late);

/* Ends a sample: the history of all things; those that are in it no more are freed. */
void kino__things_remember(kino__metrics *metrics);
void kino__thing_free(kino__metrics *metrics, kino__thing *thing);

/* Decimal digits of a counter's rate. */
static inline unsigned kino__metric_rate_digits(const kino__metric *metric)
{
    return metric->digits < 6 ? metric->digits + 3 : metric->digits;
}

/* A difference over a time as a rate per second with so many digits more, rounded; KINO_NO_INT when
 * there is none or it does not fit. */
int64_t kino__rate(int64_t difference, int64_t interval_ns, unsigned digits);
/* part / whole with 6 digits, however large; KINO_NO_INT when whole is not positive. */
int64_t kino__quotient(int64_t part, int64_t whole);
/* part / whole with 6 digits, within [0, 1]; KINO_NO_INT when whole is not positive. */
int64_t kino__ratio(int64_t part, int64_t whole);

/* -- files that are read again and again -- */

typedef struct kino__proc_file {
    int fd; /* plus one, so that a zeroed one is closed */
} kino__proc_file;

/* `path` behind "/proc" or whatever stands for it. errno on failure. */
bool kino__proc_open(kino__proc_file *file, const char *folder, const char *path);
void kino__proc_close(kino__proc_file *file);
/* The text of now, in the scratch buffer. False (with errno) when it cannot be read. */
bool kino__proc_read(const kino__proc_file *file, kino__metrics *metrics, kino_str *out);

/* For a collector of one file: its state is a kino__proc_file, these are its open and close. */
bool kino__collector_open_file(void *state, kino__metrics *metrics);
void kino__collector_close_file(void *state);
/* The file's text of now; false when it cannot be read, which kino__collector_miss has said. */
bool kino__collector_read_file(void *state, kino__metrics *metrics, kino_str *out);

/* -- for the outputs -- */

/* Is it in the newest sample, and shown? */
static inline bool kino__thing_is_there(const kino__metrics *metrics, const kino__thing *thing)
{
    return thing->seen == metrics->samples && !thing->is_hidden;
}

/* May this user see it? */
static inline bool kino__thing_is_for(const kino__thing *thing, uid_t viewer)
{
    return viewer == KINO__METRICS_ALL || !thing->has_owner || thing->owner == viewer;
}

static inline bool kino__value_is_there(const kino__thing *thing, unsigned metric)
{
    return thing->values[metric].seen == thing->seen;
}

/* "12.5": the value with the zeros at the end left out. */
size_t kino__fixed_to_text(int64_t value, unsigned digits, char text[32]);
/* Samples in the history, at most so many; the newest is the number samples - 1. */
size_t kino__history_count(const kino__metrics *metrics);
/* Place in the rings of the sample that is `back` samples old; 0: the newest. */
size_t kino__history_slot(const kino__metrics *metrics, size_t back);
/* A thing's ring of one metric, NULL when it has none. */
const int64_t *kino__thing_history(const kino__metrics *metrics, const kino__thing *thing,
                                   unsigned metric);

/* The labels job and rank, as far as they are known. */
void kino__label_job(kino__thing *thing, const kino__watched *watched);
/* Fills in who a process is: its command, and what its environment and cgroups say. */
void kino__attribute(kino__metrics *metrics, kino__watched *watched);
/* Its parts: of /proc/PID/environ and /proc/PID/cmdline. */
void kino__attribute_environment(kino_str text, kino__attribution *out);
void kino__attribute_command(kino_str text, kino__attribution *out);

#endif
