/* report.h - the value of a report, and its forms: terminal, JSON, Markdown, HTML.
 *
 *   facts      what ran: one line each
 *   summary    sentences, each with the events behind its numbers
 *   step       the average step as a bar; bars of ranks and of steps beside it
 *   findings   what to do, the largest gain first
 *   sections   tables; some belong to the first screen, others to the details
 *   results    the whole answers of the analyses it was made from
 *
 * src/report fills it (report/report.c); the files report_<form>.c here only read it. All texts
 * belong to the report. A new form: src/render/report_<name>.c with a kino__report_form, a line in
 * report_forms.c, tests in tests/unit/report/. */
#ifndef KINO__RENDER_REPORT_H
#define KINO__RENDER_REPORT_H

#include "base/arena.h"
#include "base/json_out.h"
#include "base/vec.h"
#include "render/render.h"
#include "store/table.h"

/* Parts of a step; the engine says what each is called. */
enum { KINO__REPORT_ROLES = 8 };

typedef struct kino__report_text {
    kino_str text;
    kino__id_list evidence;
} kino__report_text;

typedef struct kino__report_fact {
    const char *name;  /* "devices" */
    const char *title; /* "Devices" */
    kino_str text;
} kino__report_fact;

typedef struct kino__report_bar {
    kino_str label; /* "rank 3", "5" */
    int64_t total;  /* ns; the parts add up to it */
    int64_t part[KINO__REPORT_ROLES];
    kino__id_list evidence;
} kino__report_bar;

typedef KINO__VEC(kino__report_bar) kino__report_bars;

typedef struct kino__report_finding {
    kino_str rule, severity, title, seen, why, todo;
    double gain_percent; /* NaN: not known */
    kino_str whose;      /* of whose step: "rank 2's step"; empty: there is one rank */
    kino__id_list ranks, evidence;
} kino__report_finding;

typedef struct kino__report_section {
    const char *name;         /* "operators" */
    const char *title;        /* "Top operators" */
    const kino__table *table; /* NULL: not available */
    kino_str note;            /* why it is not; or a line that belongs to the table; may be empty */
    kino__id_list evidence;
    bool is_brief;         /* on the first screen */
    size_t brief_limit;    /* rows there */
    uint64_t brief_hidden; /* bit i: column i is for the details */
} kino__report_section;

/* Lines of a picture: rows of a table with the same device and rank are one. */
typedef struct kino__report_curve {
    const kino__table *table;
    size_t rank, device, time, allocated; /* columns */
} kino__report_curve;

struct kino_report {
    bool is_full; /* details too */
    kino_str path;
    const char *version; /* of the program */
    KINO__VEC(kino__report_fact) facts;
    KINO__VEC(kino__report_text) summary;
    const char *roles[KINO__REPORT_ROLES]; /* "Kernel", ... */
    kino__id_list role_evidence[KINO__REPORT_ROLES];
    bool has_step;          /* false: step is nothing, and step_note says why */
    kino__report_bar step;  /* the average; totals rounded to ns, parts add up */
    const char *step_title; /* "Step time"; "Recorded time" if no steps are marked */
    kino_str step_note;     /* "average of 6 steps, 173.9 ms to 187.9 ms" */
    kino__report_bars ranks, steps;
    KINO__VEC(kino__report_finding) findings;
    KINO__VEC(kino__report_section) sections;
    KINO__VEC(kino_result *) results;
    KINO__VEC(kino__note) notes;  /* what was left out, and why */
    kino_result *own;             /* holds the sections' tables, and the input */
    kino__report_curve memory;    /* for a picture; without a table: none */
    kino__report_section nowhere; /* takes what finds no memory */
    kino__arena arena;
};
typedef struct kino_report kino__report;

/* Is the gain of a finding known, and does it not round to 0.0 %? */
static inline bool kino__report_has_gain(double percent)
{
    return percent >= 0.05; /* NaN: not known */
}

typedef struct kino__report_form {
    const char *name;
    kino_status (*render)(kino__render *render, const kino__report *report, kino_error *err);
} kino__report_form;

extern const kino__report_form kino__report_form_table;
extern const kino__report_form kino__report_form_json;
extern const kino__report_form kino__report_form_md;
extern const kino__report_form kino__report_form_html;

/* By name (NULL: the terminal's); NULL when there is none. */
const kino__report_form *kino__report_form_find(const char *name);

KINO_NODISCARD kino_status kino__render_report(kino__render *render, const kino__report_form *form,
                                               const kino__report *report, kino_error *err);

/* "1, 2" (report_forms.c) */
void kino__format_ids(kino__buffer *out, kino__id_list list);

/* -- bars (report_bar.c) -- */

/* Shares out `width` cells among the parts: largest remainders, so that they always add up to it.
 * Negative parts count as 0; all 0: no cells. */
void kino__bar_cells(const int64_t *parts, size_t count, size_t width, size_t *cells);

/* How a part looks: a letter where there are no colours, a colour of the terminal's 256, and those
 * of a light and a dark page. */
typedef struct kino__role_style {
    const char *cell;         /* one column wide */
    unsigned char terminal;   /* number of the colour */
    const char *light, *dark; /* "#1f77b4" */
} kino__role_style;

extern const kino__role_style kino__role_styles[KINO__REPORT_ROLES];

/* The share of a part in percent; 0 of nothing is 0. */
static inline double kino__share_percent(int64_t part, int64_t of)
{
    return of > 0 ? 100.0 * (double)part / (double)of : 0;
}

/* -- pieces of other renderers that reports are made of -- */

/* A table without its title, fitted to render->width (table.c). */
KINO_NODISCARD kino_status kino__render_grid(kino__render *render, const kino__table *table,
                                             kino_error *err);
/* A table without its heading (md.c). */
KINO_NODISCARD kino_status kino__render_md_table(kino__render *render, const kino__table *table,
                                                 kino_error *err);
void kino__md_add_text(kino__buffer *out, kino_str text);
/* A result as a value inside another document; its tables begin lines indented by 2 (json.c). */
KINO_NODISCARD kino_status kino__render_json_result(kino__render *render, kino__json *json,
                                                    const kino_result *result, kino_error *err);
/* The members of a table: columns and rows. */
KINO_NODISCARD kino_status kino__render_json_table(kino__render *render, kino__json *json,
                                                   const kino__table *table, kino_error *err);

#endif
