/* report_internal.h - what the files of the report share: the facts of each trace, the numbers that
 * sentences are made of, and who fills which part of the value (render/report.h).
 *
 *   report.c          runs the analyses over the traces, once each, and puts the rest together
 *   report_facts.c    steps, parts and the longest events of each trace
 *   report_head.c     what ran
 *   report_ranges.c   ranges that the program marked
 *   report_say.c      the paragraph, by rules
 *   report_tables.c   the list of sections, and what they share
 *   report_groups.c   rows of the same name added up
 *   section_<name>.c  a section each */
#ifndef KINO__REPORT_INTERNAL_H
#define KINO__REPORT_INTERNAL_H

#include "analysis/analysis.h"
#include "engine/kino_run.h"
#include "model/profile/profile.h"
#include "render/report.h"

/* -- facts: the report's own analysis, never listed -- */

enum { KINO__LONGEST = 3 };

/* The longest events of a kind. */
typedef struct kino__longest {
    int64_t dur[KINO__LONGEST]; /* the longest first */
    int64_t id[KINO__LONGEST];
    size_t count;
} kino__longest;

typedef struct kino__step_fact {
    kino_str name;
    int64_t event; /* id, or KINO_NO_INT where the step is made */
    int64_t time;
    int64_t part[KINO__ROLE_COUNT];
    int64_t computation, communication, overlap; /* on the device */
} kino__step_fact;

typedef struct kino__rank_fact {
    int64_t rank;
    uint32_t trace;
    kino_str worker;
    size_t first_step, step_count;    /* in steps */
    size_t steps_cut;                 /* at the end, left out because they are not whole */
    uint64_t events_used;             /* that play a part */
    int64_t window_start, window_end; /* of all events; start KINO_NO_TIME: none has a time */
    bool has_step_events, has_device, has_kernels, has_memory, has_modules;
    kino__step_source step_source;      /* where there are steps */
    bool has_work;                      /* kernels, copies or sets: what the device did is known */
    size_t range_count;                 /* that the program marked, steps apart */
    int64_t ranges_time, ranges_extent; /* what they cover, of the time from first to last */
    kino__longest longest[KINO__ROLE_COUNT];
} kino__rank_fact;

/* Ranges of a name. */
typedef struct kino__range_fact {
    kino_str name; /* when they are put into order */
    int64_t count, total;
    kino__longest longest;
} kino__range_fact;

typedef struct kino__report_facts {
    KINO__VEC(kino__step_fact) steps;
    KINO__VEC(kino__rank_fact) ranks; /* in the order of traces */
    /* of names that operators or kernels have: those with the number of the name */
    kino__string_pool names;
    KINO__VEC(kino__longest) longest;
    kino__string_pool range_names;
    KINO__VEC(kino__range_fact) ranges; /* by the number of the name */
    KINO__VEC(char *) texts;            /* names of steps that stand in no trace */
} kino__report_facts;

/* Its partial is kino__report_facts; it has no tables to finish. */
extern const kino__analysis_def kino__report_facts_def;

void kino__longest_add(kino__longest *longest, int64_t dur, int64_t id);
void kino__longest_merge(kino__longest *into, const kino__longest *from);
/* Adds what another trace has of a name; the text is borrowed. False: memory is out. */
bool kino__report_add_range(kino__report_facts *facts, kino_str name,
                            const kino__range_fact *range);
/* Fills facts->ranges and what the rank has of them; false: memory is out. */
bool kino__report_find_ranges(const kino__profile *p, kino__report_facts *facts,
                              kino__rank_fact *rank);

/* -- numbers: what the sentences say -- */

typedef struct kino__report_numbers {
    size_t trace_count;
    uint64_t events_used;
    size_t step_count; /* of all ranks */
    bool has_step_events, has_device;
    bool has_work;     /* of a device was recorded */
    int64_t step_time; /* average; KINO_NO_INT: no steps at all */
    int64_t part[KINO__REPORT_ROLES];
    kino__id_list steps, role[KINO__REPORT_ROLES];

    kino_str slowest_step; /* name; empty: none stands out */
    int64_t slowest_time, median_time;
    kino__id_list slowest;

    kino_str slow_title, slow_seen; /* ranks that keep the others waiting; empty: none does */
    kino__id_list slow_evidence;

    kino_str kernel; /* the one with most time; empty: none */
    double kernel_percent;
    kino__id_list kernel_evidence;
    kino_str op; /* the same for operators by host time, where there is no device */
    double op_percent;
    kino__id_list op_evidence;

    kino_str function; /* with most own time in the samples; empty: none */
    double function_percent;
    bool has_samples;

    size_t range_count; /* that the program marked */
    int64_t ranges_time, ranges_extent;

    kino_str memory_device;            /* empty: no records */
    int64_t memory_peak, memory_total; /* total may be KINO_NO_INT */
    kino__id_list memory_evidence;

    kino_str advice;       /* title of the first finding; empty: none */
    kino_str advice_whose; /* "rank 2's step"; empty: there is one rank */
    bool advice_is_slow;   /* it is about the ranks above */
    double advice_gain;
    kino__id_list advice_evidence;
    int64_t losses, damages, warnings; /* about the trace; losses KINO_NO_INT: not checked */
} kino__report_numbers;

/* The paragraph. */
void kino__report_say(kino__report *report, const kino__report_numbers *numbers);

/* -- the parts -- */

void kino__report_head(kino__report *report, const kino_run *run, const kino__report_facts *facts);
/* Average step, bars of ranks and steps. */
void kino__report_steps(kino__report *report, const kino__report_facts *facts,
                        kino__report_numbers *numbers);

/* -- sections, from report->results; a new one: a file and a line in sections.def -- */

/* What a section is made from, and where it goes. */
typedef struct kino__report_input {
    kino__report *report;
    kino_run *run;
    const kino__report_facts *facts;
    kino__report_numbers *numbers; /* for the sentences: a section adds its own */
    bool is_compat;                /* as the TensorBoard plugin has it */
    const kino_result *costs;      /* of the analysis roofline; NULL: not wanted */
} kino__report_input;

#define SECTION(name) void kino__report_section_##name(const kino__report_input *in);
#include "report/sections.def"
#undef SECTION

void kino__report_sections(const kino__report_input *in);

/* The analyses that a report of the run is made from, the report's own among them, with their
 * parameters. */
typedef kino_status (*kino__report_job_fn)(void *context, const kino__analysis_def *def,
                                           const kino_param *params, size_t count, kino_error *err);
KINO_NODISCARD kino_status kino__report_each_job(const kino_run *run,
                                                 const kino_report_options *given,
                                                 kino__report_job_fn see, void *context,
                                                 kino_error *err);
/* Does it fill the tables that a report shows, and no others? */
bool kino__report_is_brief(const kino__analysis_def *def, bool is_full);
/* Does it need much memory while it works? */
bool kino__report_is_large(const kino__analysis_def *def);

/* May there be a section about costs? Not in reports of large runs, unless they are to have all. */
bool kino__report_wants_costs(const kino_run *run, const kino_report_options *given);

/* Is there more than samples of the CPU? */
static inline bool kino__report_has_events(const kino__report_input *in)
{
    return !in->numbers->has_samples || in->numbers->events_used;
}

/* A column of an analysis' table (analysis/columns.h) as people see it. */
typedef struct kino__shown_column {
    size_t column;
    const char *title; /* NULL ends a list */
} kino__shown_column;

enum { KINO__ANY_COLUMN = 255 };

/* Which rows: those of one rank, or with a value in a column. */
typedef struct kino__row_filter {
    int64_t rank; /* KINO_NO_INT: of all */
    size_t needs; /* KINO__ANY_COLUMN: nothing */
} kino__row_filter;

extern const kino__row_filter kino__all_rows;

/* A table of an analysis with some of its columns and rows. */
kino__table *kino__report_copy_table(kino__report *report, const kino__table *source,
                                     const char *name, const kino__shown_column *shown,
                                     kino__row_filter filter);
/* Ranges, where there are no operators; false: there are none (report_ranges.c). */
bool kino__report_ranges(kino__report *report, const kino__report_facts *facts);
/* A new section; a table without rows counts as none. Never NULL. */
kino__report_section *kino__report_add_section(kino__report *report, const char *name,
                                               const char *title, const kino__table *table);
/* The first note of an analysis that says what is not available, else `otherwise`. */
kino_str kino__report_why_not(kino__report *report, const kino__analysis_def *def,
                              const char *otherwise);

/* -- small helpers; failure sticks in report->own->failed -- */

/* The answer of an analysis, and one of its tables (analysis/columns.h); NULL: left out. */
kino_result *kino__report_result_of(const kino__report *report, const kino__analysis_def *def);
const kino__table *kino__report_table(const kino__report *report, const kino__analysis_def *def,
                                      size_t table);
kino_str kino__report_copy(kino__report *report, kino_str text);
kino_str kino__report_format(kino__report *report, const char *format, ...) KINO_PRINTF(2, 3);
kino__id_list kino__report_evidence(kino__report *report, const int64_t *ids, size_t count);
void kino__report_fail(kino__report *report);
/* "rank 3", or the worker, or "trace 2". */
kino_str kino__rank_label(kino__report *report, const kino__rank_fact *rank);

#endif
