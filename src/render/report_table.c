/* report_table.c - a report for the terminal: one screen first, details with --full.
 *
 * Everything is fitted to the width: paragraphs are wrapped, bars scaled, long names shortened in
 * the middle, columns left out from the right. Without colours the parts of a bar are told apart by
 * their cells. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "render/report.h"
#include "render/units.h"

#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define RESET "\033[0m"

enum { DEFAULT_WIDTH = 100, LEAST_WIDTH = 40, TEXT_WIDTH = 110, MOST_RANKS = 8, TOP_FINDINGS = 3 };

typedef struct screen {
    kino__render *render;
    const kino__report *report;
    size_t width; /* of the terminal */
} screen;

static kino__buffer *out_of(const screen *s)
{
    return &s->render->text;
}

static void style(const screen *s, const char *code)
{
    if (s->render->color)
        kino__buffer_add(out_of(s), kino__str_from(code));
}

static void add_blanks(const screen *s, size_t count)
{
    kino__buffer_printf(out_of(s), "%*s", (int)count, "");
}

static void add_line(const screen *s, const char *code, kino_str text)
{
    style(s, code);
    kino__buffer_add(out_of(s), text);
    style(s, RESET);
    kino__buffer_add(out_of(s), KINO__STR("\n"));
}

/* -- wrapped text -- */

typedef struct wrap {
    const screen *s;
    size_t indent, limit, at; /* columns */
    bool is_empty;            /* nothing on this line yet */
} wrap;

static wrap wrap_start(const screen *s, size_t indent)
{
    size_t limit = s->width < TEXT_WIDTH ? s->width : TEXT_WIDTH;
    return (wrap){s, indent, limit, indent, true};
}

/* Puts a piece that must stay together, with a gap before it unless it begins a line. */
static void wrap_piece(wrap *w, kino_str piece, size_t width, const char *gap)
{
    size_t gap_width = kino__text_width(kino__str_from(gap));
    if (!w->is_empty && w->at + gap_width + width > w->limit) {
        kino__buffer_add(out_of(w->s), KINO__STR("\n"));
        add_blanks(w->s, w->indent);
        w->at = w->indent;
        w->is_empty = true;
    }
    if (!w->is_empty) {
        kino__buffer_add(out_of(w->s), kino__str_from(gap));
        w->at += gap_width;
    }
    kino__buffer_add(out_of(w->s), piece);
    w->at += width;
    w->is_empty = false;
}

/* Blanks between a number and its unit do not break a line. */
static bool keeps_together(kino_str before, kino_str after)
{
    static const char *const units[] = {"%", "ns",  "µs",  "ms",  "s",
                                        "B", "KiB", "MiB", "GiB", "TiB"};
    char last = before.size ? before.data[before.size - 1] : 0;
    while (after.size && strchr(".,;:)", after.data[after.size - 1]))
        after.size--;
    for (size_t i = 0; last >= '0' && last <= '9' && i < sizeof units / sizeof *units; i++)
        if (kino__str_is(after, units[i]))
            return true;
    return false;
}

/* Text of a trace, or with parts of one. */
static void wrap_words(wrap *w, kino_str words)
{
    kino__buffer clean = {0};
    kino__format_text(&clean, words);
    kino_str text = kino__buffer_str(&clean);
    size_t at = 0;
    while (at < text.size) {
        size_t end = at;
        for (;;) {
            while (end < text.size && text.data[end] != ' ')
                end++;
            size_t next = end + 1;
            while (next < text.size && text.data[next] != ' ')
                next++;
            if (end >= text.size ||
                !keeps_together((kino_str){text.data + at, end - at},
                                (kino_str){text.data + end + 1, next - end - 1}))
                break;
            end = next;
        }
        kino_str word = {text.data + at, end - at};
        if (word.size)
            wrap_piece(w, word, kino__text_width(word), " ");
        at = end + 1;
    }
    out_of(w->s)->failed |= clean.failed;
    kino__buffer_deinit(&clean);
}

static void wrap_end(wrap *w)
{
    kino__buffer_add(out_of(w->s), KINO__STR("\n"));
}

/* Words wrapped at an indent; the first line is begun already, at the indent. */
static void add_wrapped(const screen *s, size_t indent, kino_str text)
{
    wrap w = wrap_start(s, indent);
    wrap_words(&w, text);
    wrap_end(&w);
}

/* -- head -- */

static void add_head(const screen *s)
{
    const kino__report *r = s->report;
    kino__buffer piece = {0}, clean = {0};
    kino__format_text(&clean, r->path);
    style(s, BOLD);
    kino__format_shortened(out_of(s), kino__buffer_str(&clean), s->width);
    style(s, RESET);
    kino__buffer_add(out_of(s), KINO__STR("\n"));
    wrap w = wrap_start(s, 0);
    for (size_t i = 0; i < r->facts.count; i++) {
        const kino__report_fact *fact = &r->facts.items[i];
        piece.size = 0;
        if (s->render->color)
            kino__buffer_add(&piece, KINO__STR(DIM));
        kino__buffer_printf(&piece, "%s:", fact->title);
        if (s->render->color)
            kino__buffer_add(&piece, KINO__STR(RESET));
        kino__buffer_add(&piece, KINO__STR(" "));
        kino__format_text(&piece, fact->text);
        size_t width = strlen(fact->title) + 2 + kino__text_width(fact->text);
        wrap_piece(&w, kino__buffer_str(&piece), width, " · ");
    }
    if (r->facts.count)
        wrap_end(&w);
    for (size_t i = 0; i < r->notes.count; i++) {
        wrap line = wrap_start(s, 2);
        kino__buffer_add(out_of(s), KINO__STR("! "));
        wrap_words(&line, kino__render_note(s->render, &r->notes.items[i]));
        wrap_end(&line);
    }
    kino__buffer_add(out_of(s), KINO__STR("\n"));
    wrap text = wrap_start(s, 0);
    for (size_t i = 0; i < r->summary.count; i++)
        wrap_words(&text, r->summary.items[i].text);
    wrap_end(&text);
    out_of(s)->failed |= piece.failed || clean.failed;
    kino__buffer_deinit(&piece);
    kino__buffer_deinit(&clean);
}

/* -- bars -- */

static void add_cells(const screen *s, const kino__report_bar *bar, size_t width,
                      const char *colored)
{
    size_t cells[KINO__REPORT_ROLES];
    kino__bar_cells(bar->part, KINO__REPORT_ROLES, width, cells);
    for (int r = 0; r < KINO__REPORT_ROLES; r++) {
        const kino__role_style *look = &kino__role_styles[r];
        if (cells[r] && s->render->color)
            kino__buffer_printf(out_of(s), "\033[38;5;%um", look->terminal);
        for (size_t i = 0; i < cells[r]; i++)
            kino__buffer_add(out_of(s), kino__str_from(s->render->color ? colored : look->cell));
        if (cells[r])
            style(s, RESET);
    }
}

static void add_legend(const screen *s, const kino__report_bar *bar)
{
    kino__buffer piece = {0}, time = {0};
    wrap w = wrap_start(s, 2);
    w.limit = s->width;
    add_blanks(s, 2);
    for (int r = 0; r < KINO__REPORT_ROLES; r++) {
        const kino__role_style *look = &kino__role_styles[r];
        if (kino__share_percent(bar->part[r], bar->total) < 0.05) /* would be 0.0 % */
            continue;
        piece.size = time.size = 0;
        kino__format_duration(&time, bar->part[r]);
        if (s->render->color)
            kino__buffer_printf(&piece, "\033[38;5;%um█\033[0m ", look->terminal);
        else
            kino__buffer_printf(&piece, "%s ", look->cell);
        char share[32];
        int size =
            snprintf(share, sizeof share, "%.1f %%", kino__share_percent(bar->part[r], bar->total));
        kino__buffer_printf(&piece, "%s %.*s %s", s->report->roles[r],
                            KINO__STR_ARG(kino__buffer_str(&time)), share);
        size_t width = 2 + strlen(s->report->roles[r]) + 1 +
                       kino__text_width(kino__buffer_str(&time)) + 1 + (size_t)size;
        wrap_piece(&w, kino__buffer_str(&piece), width, "   ");
    }
    wrap_end(&w);
    out_of(s)->failed |= piece.failed || time.failed;
    kino__buffer_deinit(&piece);
    kino__buffer_deinit(&time);
}

static void add_title(const screen *s, const char *title, kino_str note)
{
    kino__buffer_add(out_of(s), KINO__STR("\n"));
    style(s, BOLD);
    kino__buffer_add(out_of(s), kino__str_from(title));
    style(s, RESET);
    if (note.size) {
        size_t width = strlen(title) + 2 + kino__text_width(note);
        style(s, DIM);
        kino__buffer_add(out_of(s), width > s->width ? KINO__STR("\n  ") : KINO__STR("  "));
        kino__buffer_add(out_of(s), note);
        style(s, RESET);
    }
    kino__buffer_add(out_of(s), KINO__STR("\n"));
}

typedef struct ordered_bar {
    int64_t total;
    size_t index;
} ordered_bar;

static int compare_bars(const void *a, const void *b)
{
    const ordered_bar *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void add_rank_bar(const screen *s, const kino__report_bar *bar, size_t label, int64_t most)
{
    enum { TIME_WIDTH = 10 };
    kino__buffer time = {0};
    size_t room = s->width > label + TIME_WIDTH + 4 ? s->width - label - TIME_WIDTH - 4 : 1;
    size_t width = most > 0 ? (size_t)((double)room * (double)bar->total / (double)most + 0.5) : 0;
    add_blanks(s, 2);
    kino__buffer_add(out_of(s), bar->label);
    add_blanks(s, label - kino__text_width(bar->label) + 1);
    add_cells(s, bar, width, "▆"); /* with a gap between lines */
    kino__format_duration(&time, bar->total);
    kino__buffer_printf(out_of(s), " %.*s\n", KINO__STR_ARG(kino__buffer_str(&time)));
    kino__buffer_deinit(&time);
}

/* All ranks; of many, the slowest and the fastest few. */
static kino_status add_rank_bars(const screen *s, kino_error *err)
{
    const kino__report_bars *bars = &s->report->ranks;
    size_t count = bars->count, label = 0;
    bool is_cut = count > MOST_RANKS && !s->report->is_full;
    ordered_bar *order = malloc((count + 1) * sizeof *order);
    if (!order)
        return kino__fail_nomem(err);
    int64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t width = kino__text_width(bars->items[i].label);
        order[i] = (ordered_bar){bars->items[i].total, i};
        label = width > label ? width : label;
        most = bars->items[i].total > most ? bars->items[i].total : most;
    }
    if (is_cut)
        qsort(order, count, sizeof *order, compare_bars);
    for (size_t i = 0; i < count; i++) {
        if (is_cut && i == MOST_RANKS / 2) {
            kino__buffer_printf(out_of(s), "  ... %zu ranks between these\n", count - MOST_RANKS);
            i = count - MOST_RANKS / 2;
        }
        add_rank_bar(s, &bars->items[order[i].index], label, most);
    }
    free(order);
    return KINO_OK;
}

static kino_status add_step(const screen *s, kino_error *err)
{
    const kino__report *r = s->report;
    if (!r->has_step) {
        add_title(s, "Step time", (kino_str){"", 0});
        kino__buffer_printf(out_of(s), "  not available: %.*s\n", KINO__STR_ARG(r->step_note));
        return KINO_OK;
    }
    kino__buffer title = {0};
    kino__buffer_printf(&title, "%s ", r->step_title);
    kino__format_duration(&title, r->step.total);
    kino__buffer_add(&title, (kino_str){"", 1});
    if (title.failed)
        return kino__fail_nomem(err);
    add_title(s, title.data, r->step_note);
    kino__buffer_deinit(&title);
    add_blanks(s, 2);
    add_cells(s, &r->step, s->width - 2, "█");
    kino__buffer_add(out_of(s), KINO__STR("\n"));
    add_legend(s, &r->step);
    return r->ranks.count > 1 ? add_rank_bars(s, err) : KINO_OK;
}

/* -- findings -- */

static void add_evidence(const screen *s, size_t indent, kino__id_list list, bool has_brackets)
{
    kino__buffer line = {0};
    if (list.count == 0)
        return;
    kino__buffer_printf(&line, "events %s", has_brackets ? "[" : "");
    kino__format_ids(&line, list);
    kino__buffer_printf(&line, "%s", has_brackets ? "]" : "");
    add_blanks(s, indent);
    style(s, DIM);
    add_wrapped(s, indent, kino__buffer_str(&line));
    style(s, RESET);
    kino__buffer_deinit(&line);
}

static void add_finding(const screen *s, const kino__report_finding *f, size_t number,
                        bool has_details)
{
    enum { INDENT = 5 };
    kino__buffer_printf(out_of(s), "  %zu. ", number);
    kino__buffer title = {0};
    kino__format_text(&title, f->title);
    if (kino__report_has_gain(f->gain_percent))
        kino__buffer_printf(&title, " (up to %.1f %%%s%.*s)", f->gain_percent,
                            f->whose.size ? " of " : "", KINO__STR_ARG(f->whose));
    style(s, BOLD);
    add_wrapped(s, INDENT, kino__buffer_str(&title));
    style(s, RESET);
    kino__buffer_deinit(&title);
    add_blanks(s, INDENT);
    add_wrapped(s, INDENT, f->seen);
    if (has_details && f->why.size) {
        add_blanks(s, INDENT);
        add_wrapped(s, INDENT, f->why);
    }
    add_blanks(s, INDENT);
    kino__buffer_add(out_of(s), KINO__STR("→ "));
    add_wrapped(s, INDENT + 2, f->todo);
    if (!has_details)
        return;
    kino__buffer line = {0};
    kino__buffer_printf(&line, "rule %.*s, severity %.*s", KINO__STR_ARG(f->rule),
                        KINO__STR_ARG(f->severity));
    if (f->ranks.count) {
        kino__buffer_add(&line, KINO__STR(", ranks ["));
        kino__format_ids(&line, f->ranks);
        kino__buffer_add(&line, KINO__STR("]"));
    }
    add_blanks(s, INDENT);
    style(s, DIM);
    add_wrapped(s, INDENT, kino__buffer_str(&line));
    style(s, RESET);
    kino__buffer_deinit(&line);
    add_evidence(s, INDENT, f->evidence, true);
}

static bool is_info(const kino__report_finding *f)
{
    return kino__str_is(f->severity, "info");
}

static void add_findings(const screen *s)
{
    const kino__report *r = s->report;
    size_t shown = 0, more = 0;
    add_title(s, r->is_full ? "What to do" : "What to do first", (kino_str){"", 0});
    for (size_t i = 0; i < r->findings.count; i++) {
        if (r->is_full || (shown < TOP_FINDINGS && !is_info(&r->findings.items[i])))
            add_finding(s, &r->findings.items[i], ++shown, r->is_full);
        else
            more++;
    }
    char line[96];
    int size = 0;
    const char *full = kino__render_full(s->render);
    if (shown == 0 && more)
        size = snprintf(line, sizeof line,
                        "  nothing about the program; %s shows %zu %s about the recording", full,
                        more, more == 1 ? "note" : "notes");
    else if (shown == 0)
        size = snprintf(line, sizeof line, "  nothing to recommend");
    else if (more)
        size = snprintf(line, sizeof line, "  and %zu more with %s", more, full);
    if (size)
        add_line(s, DIM, (kino_str){line, (size_t)size});
}

/* -- tables -- */

static kino_status add_section(const screen *s, const kino__report_section *section,
                               kino_error *err)
{
    bool is_full = s->report->is_full;
    kino_str note = section->note;
    if (!section->table) {
        add_title(s, section->title, (kino_str){"", 0});
        add_blanks(s, 2);
        add_wrapped(s, 2, note.size ? note : KINO__STR("not available"));
        return KINO_OK;
    }
    size_t rows = kino__table_row_count(section->table);
    uint64_t limit = is_full ? s->render->limit : section->brief_limit;
    uint64_t kept = s->render->limit;
    unsigned width = s->render->width;
    kino__table table = *section->table;
    if (!is_full)
        table.hidden |= section->brief_hidden;
    char more[64] = "";
    int size = 0;
    if (limit && limit < rows)
        size = snprintf(more, sizeof more, "%llu of %zu", (unsigned long long)limit, rows);
    add_title(s, section->title, (kino_str){more, (size_t)size});
    s->render->limit = limit;
    s->render->width = (unsigned)s->width;
    kino_status st = kino__render_grid(s->render, &table, err);
    s->render->limit = kept;
    s->render->width = width;
    if (st == KINO_OK && note.size) {
        add_blanks(s, 2);
        add_wrapped(s, 2, note);
    }
    if (st == KINO_OK && is_full)
        add_evidence(s, 2, section->evidence, false);
    return st == KINO_OK ? kino__render_flush(s->render, false, err) : st;
}

static kino_status render_report(kino__render *render, const kino__report *report, kino_error *err)
{
    screen s = {render, report, render->width ? render->width : DEFAULT_WIDTH};
    s.width = s.width < LEAST_WIDTH ? LEAST_WIDTH : s.width;
    add_head(&s);
    KINO_TRY(add_step(&s, err));
    add_findings(&s);
    for (size_t i = 0; i < report->sections.count; i++) {
        const kino__report_section *section = &report->sections.items[i];
        if (report->is_full || section->is_brief)
            KINO_TRY(add_section(&s, section, err));
    }
    if (!report->is_full) {
        kino__buffer_add(&render->text, KINO__STR("\n"));
        style(&s, DIM);
        add_wrapped(&s, 0,
                    render->hints == KINO_HINTS_OPTION
                        ? KINO__STR("use --full for details, --format html for a web page")
                        : KINO__STR("full=True has details, and .html is a web page"));
        style(&s, RESET);
    }
    return KINO_OK;
}

const kino__report_form kino__report_form_table = {"table", render_report};
