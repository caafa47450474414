/* trace_config.h - configuration text in Kineto's grammar, as values.
 *
 *   ACTIVITIES_DURATION_MSECS=500      # lines of KEY=VALUE; behind # is comment
 *
 * A pure function of the text and of what the caller says about the process, so that each rule is
 * a line of a test. A line that cannot be read refuses the whole text, with its number and the
 * reason; nothing is replaced by something else. A key that nobody knows is a warning. The list of
 * keys is trace_config_keys.def. */
#ifndef KINO__WIRE_TRACE_CONFIG_H
#define KINO__WIRE_TRACE_CONFIG_H

#include "base/arena.h"
#include "base/str.h"

enum {
    KINO__CONFIG_TEXT_MAX = 1 << 16,
    KINO__CONFIG_WARNINGS_MAX = 64, /* kept; all are counted */
    KINO__CONFIG_AGE_MAX_MS = 10000,
    KINO__CONFIG_LEAD_MS = 2000, /* of a start that nobody chose, before the warm-up */
};

/* Kineto's numbers of activity types: activity_types.def. */
#define KINO__ACTIVITY_TYPES_DEFAULT ((1u << 18) - 1)

/* What the text does not say. */
typedef struct kino__config_context {
    const char *origin; /* for messages: "'/etc/x.conf'", "request" */
    int64_t now_ms;     /* Unix time */
    int64_t pid;
    bool is_remote;                   /* somebody else wrote the text: paths are restricted */
    const char *remote_dir;           /* where it may write; NULL: /tmp */
    const kino__allocator *allocator; /* of all texts */
} kino__config_context;

/* Names, defaults and meaning: section "Keys" of docs/internals/recorder-control.md. Texts are
 * terminated and the config's; "" when not set. */
typedef struct kino__config {
    const char *log_file; /* as it was written */
    const char *url;      /* where the trace goes, with the pid in its name */
    int64_t duration_ms, warmup_ms;
    int64_t iterations, warmup_iterations;
    int64_t start_time_ms;   /* Unix time; never 0 behind a successful parse */
    int64_t start_iteration; /* -1: none */
    int64_t start_roundup;   /* -1: none */
    int64_t start_delay_ms;  /* -1: none */
    int64_t snapshot_ms, dump_last_ms;
    int64_t budget_mb; /* 0: the recorder's default */
    int64_t gpu_buffer_mb, rocm_max_events, cupti_pm_device, xpu_max_scopes;
    const char *cupti_pm_metrics, *xpu_metrics, *custom_config;
    const char *trace_id, *group_trace_id;
    int64_t poll_interval_ms;
    int64_t verbose_level;
    const char *verbose_modules;
    /* Lines of "line 3: unknown key 'X'"; "" when there are none. */
    const char *warnings;
    size_t warning_count;
    kino__arena arena;       /* of all texts */
    uint32_t activity_types; /* a bit for each */
    int signal_number;       /* 0: none */
    bool activities_enabled;
    bool is_request;         /* a key was there that only somebody writes who wants a trace */
    bool has_activity_types; /* the text chose them */
    bool has_start_time;     /* the text chose it */
    bool with_shapes, with_memory, with_stack, with_flops, with_modules;
    bool wants_snapshot; /* of memory, instead of a trace */
    bool wants_dump;     /* of the flight recorder, instead of a new trace */
    bool shows_wait_events, cupti_per_thread_buffer, xpu_per_kernel;
    bool use_daemon, has_use_daemon;
} kino__config;

/* *out is to be deinitialised whatever is returned. KINO_FORMAT: a line is refused; the message
 * begins with the origin and the line, err->offset is where the line begins. */
KINO_NODISCARD kino_status kino__config_parse(kino_str text, const kino__config_context *context,
                                              kino__config *out, kino_error *err);
void kino__config_deinit(kino__config *config);
/* Moves the config; the source is left empty. */
void kino__config_take(kino__config *from, kino__config *to);

/* Is it a request that can be carried out as it was written? Contradictions are refused. */
KINO_NODISCARD kino_status kino__config_check_request(const kino__config *config,
                                                      const char *origin, kino_error *err);

/* Who a key is for. */
typedef enum kino__config_key_kind {
    KINO__CONFIG_KEY_UNKNOWN,
    KINO__CONFIG_KEY_REQUEST, /* of a trace */
    KINO__CONFIG_KEY_BASE,    /* of the process: nobody sends it to another one */
} kino__config_key_kind;
kino__config_key_kind kino__config_key_kind_of(kino_str name);

/* A request's text put together again from what is known: one line "KEY=VALUE\n" for each known key
 * of a trace, in the order of the text, the last one where a key comes twice. Comments, unknown
 * keys, those of the process and REQUEST_TRACE_ID stay behind; Kino's own keys too, unless
 * `with_kino`. `text` must be one that kino__config_parse took: values are copied as they are. */
void kino__config_rebuild(kino_str text, bool with_kino, kino__buffer *out);

/* Is it a number of steps, rather than a time? */
static inline bool kino__config_is_by_iteration(const kino__config *config)
{
    return config->start_iteration >= 0 && config->iterations > 0;
}

/* "x.json" -> "x_<pid>.json": before the first ".pt.trace.json", else the first ".json", else a
 * ".kino" at the end; other names stay as they are. data is NULL when memory is out. */
kino_str kino__config_insert_pid(kino__arena *arena, kino_str path, int64_t pid);

/* SIGUSR1, SIGUSR2 or a real-time signal, by name or number; 0: it is none that may be used. */
int kino__config_signal(kino_str text);
bool kino__config_signal_is_usable(int64_t number);

#endif
