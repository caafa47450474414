/* kino/analysis.h - what an analysis is called, what it takes and what it gives: plain values, made
 * from its definition.
 *
 * The command line, SQL, HTTP, Python and the reference pages are all made from these. Lists end
 * with an entry whose name is NULL. */
#ifndef KINO_ANALYSIS_H
#define KINO_ANALYSIS_H

#include <kino/base.h>
#include <kino/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A parameter. Values are text wherever they come from ("5", "0.8", "yes", "30us", "200MB"); they
 * are read by the type: INT, FLOAT, PERCENT, BOOL, STRING, DURATION, TIME (both: plain numbers are
 * ns), BYTES. */
typedef struct kino_param_info {
    const char *name; /* "num_kernels": so in SQL and JSON, --num-kernels on the command line */
    kino_type type;
    const char *value;   /* the default, as a user would write it; NULL: none */
    const char *help;    /* one line, lower case, no full stop */
    const char *choices; /* STRING: "name|name-shape"; or NULL */
} kino_param_info;

typedef struct kino_table_info {
    const char *name;           /* "kernel_type" */
    const char *help;           /* one line: what a row is */
    const kino_column *columns; /* a column without a name ends them */
    const char *title;          /* above the table for people; NULL: made from the name */
    const char *empty;          /* what people read when it has no rows; NULL: "none" */
} kino_table_info;

typedef struct kino_analysis_info {
    uint32_t size;                 /* sizeof(kino_analysis_info), set by the caller */
    bool takes_steps;              /* has the parameter "steps" */
    const char *name;              /* "kernel-breakdown" */
    const char *help;              /* one line, lower case, no full stop */
    const char *description;       /* paragraphs of lines of at most 80 columns */
    const kino_param_info *params; /* declared ones; "compat" and "steps" come on top */
    const kino_table_info *tables;
    const char *const *compat; /* names that the parameter "compat" takes; NULL at the end */
} kino_analysis_info;
#define KINO_ANALYSIS_INFO_INIT                                                                    \
    {                                                                                              \
        sizeof(kino_analysis_info), false, NULL, NULL, NULL, NULL, NULL, NULL                      \
    }

/* A parameter's value as given. */
typedef struct kino_param {
    const char *name; /* "num_kernels" or "num-kernels" */
    const char *value;
} kino_param;

/* The n-th analysis; false at the end. Constant texts; any thread. */
KINO_API bool kino_analysis_describe(size_t index, kino_analysis_info *out);
/* The analysis of this name ('-' and '_' mean the same); false when there is none. */
KINO_API bool kino_analysis_find(const char *name, kino_analysis_info *out);

/* All of them as one table: name, help, parameters, tables. */
KINO_API KINO_NODISCARD kino_status kino_analysis_list(kino_result **out, kino_error *err);

/* Accelerators whose limits are known, as one table: peak rates by precision, bandwidths, source. */
KINO_API KINO_NODISCARD kino_status kino_peaks_list(kino_result **out, kino_error *err);

#ifdef __cplusplus
}
#endif
#endif
