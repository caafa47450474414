/* report_html.c - a report as one page to send to a colleague: no other file, no network, readable
 * without script, in light, dark and on paper.
 *
 * Everything from a trace goes through add_text, which escapes what HTML gives a meaning; numbers
 * and the texts of this file are the only things that do not. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/json_out.h"
#include "render/report.h"
#include "render/report_page.h"
#include "render/units.h"

typedef kino__buffer buffer;

static void add(buffer *out, const char *text)
{
    kino__buffer_add(out, kino__str_from(text));
}

/* Escaped, for elements and for attributes in double quotes. Control characters are made visible as
 * on the terminal; bytes that are not UTF-8 are replaced. */
static void add_text(buffer *out, kino_str text)
{
    buffer clean = {0};
    kino__format_text(&clean, text);
    for (size_t i = 0, from = 0; i <= clean.size; i++) {
        char c = i < clean.size ? clean.data[i] : 0;
        const char *name = c == '<'    ? "&lt;"
                           : c == '>'  ? "&gt;"
                           : c == '&'  ? "&amp;"
                           : c == '"'  ? "&quot;"
                           : c == '\'' ? "&#39;"
                                       : NULL;
        if (!name && i < clean.size)
            continue;
        kino__buffer_add(out, (kino_str){clean.data + from, i - from});
        if (name)
            add(out, name);
        from = i + 1;
    }
    out->failed |= clean.failed;
    kino__buffer_deinit(&clean);
}

/* The same, but that no line ends between a number and its percent sign. */
static void add_prose(buffer *out, kino_str text)
{
    size_t from = 0;
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.data[i] != ' ' || text.data[i + 1] != '%')
            continue;
        add_text(out, (kino_str){text.data + from, i - from});
        add(out, "&nbsp;");
        from = i + 1;
    }
    add_text(out, (kino_str){text.data + from, text.size - from});
}

/* -- bars as SVG: their fills are printed too -- */

static void add_tooltip(buffer *out, const kino__report *report, const kino__report_bar *bar,
                        int role)
{
    add(out, "<title>");
    if (bar != &report->step) {
        add_text(out, bar->label);
        add(out, ": ");
    }
    kino__buffer_printf(out, "%s ", report->roles[role]);
    kino__format_duration(out, bar->part[role]);
    kino__buffer_printf(out, ", %.1f %%</title>", kino__share_percent(bar->part[role], bar->total));
}

/* A bar of 1000 units for `most`. */
static void add_bar(buffer *out, const kino__report *report, const kino__report_bar *bar,
                    int64_t most)
{
    add(out, "<svg class=\"bar\" viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" role=\"img\" "
             "aria-label=\"parts of the step\">");
    double at = 0;
    for (int r = 0; r < KINO__REPORT_ROLES; r++) {
        double width = most > 0 ? 1000.0 * (double)bar->part[r] / (double)most : 0;
        if (!(width > 0))
            continue;
        kino__buffer_printf(out, "<rect class=\"p%d\" x=\"%.2f\" width=\"%.2f\" height=\"20\">", r,
                            at, width);
        add_tooltip(out, report, bar, r);
        add(out, "</rect>");
        at += width;
    }
    add(out, "</svg>");
}

static void add_legend(buffer *out, const kino__report *report)
{
    add(out, "<ul class=\"legend\">\n");
    for (int r = 0; r < KINO__REPORT_ROLES; r++) {
        if (report->step.part[r] <= 0)
            continue;
        kino__buffer_printf(out, "<li><i class=\"b%d\"></i>%s <b class=\"num\">", r,
                            report->roles[r]);
        kino__format_duration(out, report->step.part[r]);
        kino__buffer_printf(out, "</b> <span class=\"num soft\">%.1f %%</span></li>\n",
                            kino__share_percent(report->step.part[r], report->step.total));
    }
    add(out, "</ul>\n");
}

static int64_t most_of(const kino__report_bars *bars)
{
    int64_t most = 0;
    for (size_t i = 0; i < bars->count; i++)
        most = bars->items[i].total > most ? bars->items[i].total : most;
    return most;
}

static void add_rank_bars(buffer *out, const kino__report *report)
{
    int64_t most = most_of(&report->ranks);
    add(out, "<div class=\"rows\">\n");
    for (size_t i = 0; i < report->ranks.count; i++) {
        const kino__report_bar *bar = &report->ranks.items[i];
        add(out, "<span>");
        add_text(out, bar->label);
        add(out, "</span>");
        add_bar(out, report, bar, most);
        add(out, "<span class=\"num\">");
        kino__format_duration(out, bar->total);
        add(out, "</span>\n");
    }
    add(out, "</div>\n");
}

/* A line across the chart at this height, with the number that it stands for. */
static void add_level(buffer *out, int left, int right, int y)
{
    kino__buffer_printf(out,
                        "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/><text x=\"%d\" y=\"%d\" "
                        "text-anchor=\"end\">",
                        left, right, y, y, left - 8, y + 4);
}

static void begin_chart(buffer *out, int width, int height, const char *label)
{
    kino__buffer_printf(
        out, "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", width,
        height, label);
}

/* One column a step, its parts from below. */
static void add_step_chart(buffer *out, const kino__report *report)
{
    enum { WIDTH = 1000, HEIGHT = 190, BOTTOM = 165, TOP = 14, LEFT = 92, MOST_STEPS = 240 };
    size_t count = report->steps.count < MOST_STEPS ? report->steps.count : MOST_STEPS;
    int64_t most = most_of(&report->steps);
    if (count < 2 || most <= 0)
        return;
    kino__buffer_printf(out, "<h2>Steps <small>%s%zu of %zu%s</small></h2>\n",
                        "step time by part: ", count, report->steps.count,
                        report->ranks.count > 1 ? ", mean over the ranks" : "");
    begin_chart(out, WIDTH, HEIGHT, "time of each step");
    for (int line = 0; line <= 2; line++) {
        int y = BOTTOM - line * (BOTTOM - TOP) / 2;
        add_level(out, LEFT, WIDTH, y);
        if (line)
            kino__format_duration(out, most / 2 * line);
        else
            add(out, "0");
        add(out, "</text>\n");
    }
    double slot = (double)(WIDTH - LEFT) / (double)count;
    double width = slot > 60 ? 44 : slot * 0.74;
    size_t every = count > 24 ? (count + 23) / 24 : 1;
    for (size_t i = 0; i < count; i++) {
        const kino__report_bar *bar = &report->steps.items[i];
        double x = LEFT + slot * ((double)i + 0.5), y = BOTTOM;
        for (int r = 0; r < KINO__REPORT_ROLES; r++) {
            double height = (double)(BOTTOM - TOP) * (double)bar->part[r] / (double)most;
            if (!(height > 0))
                continue;
            y -= height;
            kino__buffer_printf(
                out, "<rect class=\"p%d\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">", r,
                x - width / 2, y, width, height);
            add_tooltip(out, report, bar, r);
            add(out, "</rect>");
        }
        if (i % every)
            continue;
        kino__buffer_printf(out, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">", x,
                            BOTTOM + 18);
        add_text(out, bar->label);
        add(out, "</text>\n");
    }
    add(out, "</svg>\n");
}

/* -- the memory curve, from the analysis' own table -- */

static kino_cell cell_of(const kino__report_curve *c, size_t row, size_t column)
{
    return kino__table_at(c->table, row, column);
}

static bool is_same_line(const kino__report_curve *c, size_t a, size_t b)
{
    kino_cell x = cell_of(c, a, c->device), y = cell_of(c, b, c->device);
    kino_cell p = cell_of(c, a, c->rank), q = cell_of(c, b, c->rank);
    return x.kind == KINO_CELL_TEXT && y.kind == KINO_CELL_TEXT && p.kind == q.kind &&
           kino__str_equal(x.value.text, y.value.text) &&
           (p.kind != KINO_CELL_INT || p.value.integer == q.value.integer);
}

static bool is_point(const kino__report_curve *c, size_t row)
{
    return cell_of(c, row, c->time).kind == KINO_CELL_INT &&
           cell_of(c, row, c->allocated).kind == KINO_CELL_INT;
}

/* Rows [first, last) of one device as a line; of many points the highest of each group. */
static void add_curve(buffer *out, const kino__report_curve *c, size_t first, size_t last)
{
    enum { WIDTH = 1000, HEIGHT = 120, BOTTOM = 104, TOP = 12, LEFT = 92, POINTS = 900 };
    int64_t start = INT64_MAX, end = INT64_MIN, most = 0;
    for (size_t i = first; i < last; i++) {
        if (!is_point(c, i))
            continue;
        int64_t time = cell_of(c, i, c->time).value.integer;
        int64_t size = cell_of(c, i, c->allocated).value.integer;
        start = time < start ? time : start;
        end = time > end ? time : end;
        most = size > most ? size : most;
    }
    if (end <= start || most <= 0)
        return;
    add(out, "<p class=\"soft\">");
    add_text(out, cell_of(c, first, c->device).value.text);
    if (cell_of(c, first, c->rank).kind == KINO_CELL_INT && !(c->table->hidden & 1))
        kino__buffer_printf(out, ", rank %" PRId64, cell_of(c, first, c->rank).value.integer);
    add(out, ": allocated over ");
    kino__format_duration(out, end - start);
    add(out, "</p>\n");
    begin_chart(out, WIDTH, HEIGHT, "memory over time");
    for (int line = 0; line <= 1; line++) {
        int y = line ? TOP : BOTTOM;
        add_level(out, LEFT, WIDTH, y);
        if (line)
            kino__format_bytes(out, most);
        else
            add(out, "0");
        add(out, "</text>");
    }
    size_t group = (last - first) / POINTS + 1;
    kino__buffer_printf(out, "<path class=\"area\" d=\"M%d %d", LEFT, BOTTOM);
    for (size_t i = first; i < last; i += group) {
        int64_t size = 0, time = KINO_NO_INT;
        for (size_t k = i; k < last && k < i + group; k++) {
            if (!is_point(c, k) || cell_of(c, k, c->allocated).value.integer < size)
                continue;
            size = cell_of(c, k, c->allocated).value.integer;
            time = cell_of(c, k, c->time).value.integer;
        }
        if (time == KINO_NO_INT)
            continue;
        kino__buffer_printf(out, "L%.1f %.1f",
                            LEFT + (WIDTH - LEFT) * (double)(time - start) / (double)(end - start),
                            BOTTOM - (BOTTOM - TOP) * (double)size / (double)most);
    }
    kino__buffer_printf(out, "L%d %dZ\"/></svg>\n", WIDTH, BOTTOM);
}

static void add_curves(buffer *out, const kino__report *report)
{
    enum { MOST_CURVES = 8 };
    const kino__report_curve *c = &report->memory;
    size_t rows = c->table ? kino__table_row_count(c->table) : 0, shown = 0;
    for (size_t first = 0, last; first < rows && shown < MOST_CURVES; first = last) {
        for (last = first + 1; last < rows && is_same_line(c, first, last);)
            last++;
        if (cell_of(c, first, c->device).kind != KINO_CELL_TEXT)
            continue;
        add_curve(out, c, first, last);
        shown++;
    }
}

/* -- findings -- */

static void add_labelled(buffer *out, const char *label, kino_str text)
{
    if (text.size == 0)
        return;
    kino__buffer_printf(out, "<p><span class=\"soft\">%s</span> ", label);
    add_text(out, text);
    add(out, "</p>\n");
}

static void add_ids(buffer *out, const char *label, kino__id_list list)
{
    if (list.count == 0)
        return;
    kino__buffer_printf(out, "<p><span class=\"soft\">%s</span> [", label);
    kino__format_ids(out, list);
    add(out, "]</p>\n");
}

static void add_finding(buffer *out, const kino__report_finding *f)
{
    static const char *const levels[] = {"high", "medium", "low"};
    const char *level = "info";
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        level = kino__str_is(f->severity, levels[i]) ? levels[i] : level;
    kino__buffer_printf(out, "<article class=\"card %s\"><div class=\"top\"><h3>", level);
    add_text(out, f->title);
    add(out, "</h3>");
    if (kino__report_has_gain(f->gain_percent))
        kino__buffer_printf(out,
                            "<span class=\"gain\" title=\"estimated share of the step time "
                            "that could be saved\">−%.1f %%%s%.*s</span>",
                            f->gain_percent, f->whose.size ? " of " : "", KINO__STR_ARG(f->whose));
    add(out, "</div>\n<p>");
    add_text(out, f->seen);
    add(out, "</p>\n<p class=\"do\">→ ");
    add_text(out, f->todo);
    add(out, "</p>\n"
             "<details><summary>why, and the evidence</summary>\n");
    add_labelled(out, "Why:", f->why);
    add_labelled(out, "Rule:", f->rule);
    add_ids(out, "Ranks:", f->ranks);
    add_ids(out, "Events:", f->evidence);
    add(out, "</details></article>\n");
}

static void add_findings(buffer *out, const kino__report *report)
{
    add(out, "<h2>What to do <small>largest gain first; gains are estimates</small></h2>\n");
    if (report->findings.count == 0) {
        add(out, "<p class=\"soft\">no rule found anything to recommend</p>\n");
        return;
    }
    add(out, "<div class=\"cards\">\n");
    for (size_t i = 0; i < report->findings.count; i++)
        add_finding(out, &report->findings.items[i]);
    add(out, "</div>\n");
}

/* -- tables -- */

static void add_value(buffer *out, const kino_cell *cell)
{
    char text[32];
    if (cell->kind == KINO_CELL_INT)
        kino__buffer_printf(out, " data-v=\"%" PRId64 "\"", cell->value.integer);
    else if (cell->kind == KINO_CELL_FLOAT && isfinite(cell->value.real)) {
        size_t size = kino__double_to_text(cell->value.real, text);
        kino__buffer_printf(out, " data-v=\"%.*s\"", (int)size, text);
    } else {
        add(out, " data-v=\"\""); /* sorts last */
    }
}

static void add_number(buffer *out, buffer *scratch, const kino_column *column,
                       const kino_cell *cell)
{
    bool is_share = column->type == KINO_TYPE_PERCENT && cell->kind == KINO_CELL_FLOAT;
    add(out, is_share ? "<td class=\"r s\"" : "<td class=\"r\"");
    add_value(out, cell);
    if (is_share && cell->value.real >= 0 && cell->value.real <= 100)
        kino__buffer_printf(out, " style=\"--w:%.1f%%\"", cell->value.real);
    add(out, ">");
    scratch->size = 0;
    kino__format_cell(scratch, column, cell, false);
    kino__buffer_add(out, kino__buffer_str(scratch));
    add(out, "</td>");
}

static void add_words(buffer *out, const kino_cell *cell)
{
    add(out, "<td class=\"t\">");
    kino_str text = cell->kind == KINO_CELL_TEXT ? cell->value.text : KINO__STR("-");
    bool is_indented = text.size && text.data[0] == ' ';
    add(out, is_indented ? "<pre>" : "");
    add_text(out, text);
    add(out, is_indented ? "</pre></td>" : "</td>");
}

static kino_status add_table(kino__render *render, const kino__table *table, kino_error *err)
{
    buffer *out = &render->text, scratch = {0};
    const kino_cell none = kino__cell_null();
    size_t rows = kino__table_row_count(table), columns = table->column_count;
    uint64_t shown = render->limit && render->limit < rows ? render->limit : rows;
    kino_status st = KINO_OK;
    add(out, "<div class=\"wrap\"><table><thead><tr>");
    for (size_t i = 0; i < columns; i++) {
        const kino_column *c = &table->columns[i];
        if (!kino__column_is_for_people(table, i))
            continue;
        add(out, kino__is_number(c, &none) ? "<th class=\"r\"><button" : "<th><button");
        if (c->help) {
            add(out, " title=\"");
            add_text(out, kino__str_from(c->help));
            add(out, "\"");
        }
        add(out, ">");
        add_text(out, kino__str_from(c->name));
        add(out, "</button></th>");
    }
    add(out, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < shown && st == KINO_OK; row++) {
        add(out, "<tr>");
        for (size_t i = 0; i < columns; i++) {
            const kino_cell cell = kino__table_at(table, row, i);
            if (!kino__column_is_for_people(table, i))
                continue;
            if (kino__is_number(&table->columns[i], &cell))
                add_number(out, &scratch, &table->columns[i], &cell);
            else
                add_words(out, &cell);
        }
        add(out, "</tr>\n");
        st = kino__render_flush(render, false, err);
    }
    add(out, "</tbody></table></div>\n");
    if (shown < rows)
        kino__buffer_printf(out, "<p class=\"soft\">the first %" PRIu64 " of %zu rows</p>\n", shown,
                            rows);
    out->failed |= scratch.failed;
    kino__buffer_deinit(&scratch);
    return st;
}

static kino_status add_section(kino__render *render, const kino__report *report,
                               const kino__report_section *section, kino_error *err)
{
    buffer *out = &render->text;
    kino__buffer_printf(out, "<section id=\"%s\"><h2>%s</h2>\n", section->name, section->title);
    if (strcmp(section->name, "memory") == 0 && section->table)
        add_curves(out, report);
    if (section->table)
        KINO_TRY(add_table(render, section->table, err));
    if (section->note.size || !section->table) {
        add(out, "<p class=\"soft\">");
        add_text(out, section->note.size ? section->note : KINO__STR("not available"));
        add(out, "</p>\n");
    }
    if (section->evidence.count) {
        add(out, "<details><summary>related events</summary><p class=\"soft num\">");
        kino__format_ids(out, section->evidence);
        add(out, "</p></details>\n");
    }
    add(out, "</section>\n");
    return KINO_OK;
}

/* -- the page -- */

static void add_colors(buffer *out)
{
    for (int r = 0; r < KINO__REPORT_ROLES; r++)
        kino__buffer_printf(out, ".p%d{fill:%s}.b%d{background:%s}\n", r,
                            kino__role_styles[r].light, r, kino__role_styles[r].light);
    add(out, ".area{fill:#2f7ed855;stroke:#2f7ed8;stroke-width:1.2}\n"
             "@media screen and (prefers-color-scheme:dark){\n");
    for (int r = 0; r < KINO__REPORT_ROLES; r++)
        kino__buffer_printf(out, ".p%d{fill:%s}.b%d{background:%s}\n", r, kino__role_styles[r].dark,
                            r, kino__role_styles[r].dark);
    add(out, "}\n");
}

static void add_head(kino__render *render, buffer *out, const kino__report *report)
{
    add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
             "'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
    add_text(out, report->path);
    add(out, " - kino report</title>\n<style>\n");
    add(out, kino__page_style);
    add_colors(out);
    add(out, "</style></head>\n<body><main>\n<p class=\"brand\">kino report</p>\n<h1>");
    add_text(out, report->path);
    add(out, "</h1>\n<dl class=\"facts\">\n");
    for (size_t i = 0; i < report->facts.count; i++) {
        kino__buffer_printf(out, "<div><dt>%s</dt><dd>", report->facts.items[i].title);
        add_text(out, report->facts.items[i].text);
        add(out, "</dd></div>\n");
    }
    add(out, "</dl>\n");
    for (size_t i = 0; i < report->notes.count; i++) {
        add(out, "<p class=\"note\">");
        add_text(out, kino__render_note(render, &report->notes.items[i]));
        add(out, "</p>\n");
    }
    add(out, "<p class=\"lead\">");
    for (size_t i = 0; i < report->summary.count; i++) {
        add(out, i ? " " : "");
        add_prose(out, report->summary.items[i].text);
    }
    add(out, "</p>\n");
}

static void add_step(buffer *out, const kino__report *report)
{
    kino__buffer_printf(out, "<section id=\"step\"><h2>%s",
                        report->has_step ? report->step_title : "Step time");
    if (!report->has_step) {
        add(out, "</h2>\n<p class=\"soft\">not available: ");
        add_text(out, report->step_note);
        add(out, "</p></section>\n");
        return;
    }
    add(out, " ");
    kino__format_duration(out, report->step.total);
    add(out, " <small>");
    add_text(out, report->step_note);
    add(out, "</small></h2>\n");
    add_bar(out, report, &report->step, report->step.total);
    add(out, "\n");
    add_legend(out, report);
    if (report->ranks.count > 1)
        add_rank_bars(out, report);
    add(out, "</section>\n");
}

static kino_status render_report(kino__render *render, const kino__report *report, kino_error *err)
{
    buffer *out = &render->text;
    add_head(render, out, report);
    add_step(out, report);
    add_findings(out, report);
    add_step_chart(out, report);
    for (size_t i = 0; i < report->sections.count; i++)
        KINO_TRY(add_section(render, report, &report->sections.items[i], err));
    kino__buffer_printf(out,
                        "<footer>made by kino %s; event numbers are ids for kino query</footer>\n"
                        "</main>\n"
                        "<script>\n",
                        report->version);
    add(out, kino__page_script);
    add(out, "</script></body></html>\n");
    return KINO_OK;
}

const kino__report_form kino__report_form_html = {"html", render_report};
