/* report_md.c - a report as Markdown, for issues and pull requests: the same sections as on the
 * terminal, a bar as a table. */

#include "base/error.h"
#include "render/report.h"
#include "render/units.h"

enum { TOP_FINDINGS = 3, BAR_WIDTH = 40 };

static void add_clean(kino__buffer *out, kino_str text)
{
    kino__buffer clean = {0};
    kino__format_text(&clean, text);
    kino__md_add_text(out, kino__buffer_str(&clean));
    out->failed |= clean.failed;
    kino__buffer_deinit(&clean);
}

static void add_head(kino__render *render, kino__buffer *out, const kino__report *report)
{
    kino__buffer_add(out, KINO__STR("# Report: "));
    add_clean(out, report->path);
    kino__buffer_add(out, KINO__STR("\n\n"));
    for (size_t i = 0; i < report->summary.count; i++) {
        add_clean(out, report->summary.items[i].text);
        kino__buffer_add(out, i + 1 < report->summary.count ? KINO__STR(" ") : KINO__STR("\n\n"));
    }
    for (size_t i = 0; i < report->facts.count; i++) {
        kino__buffer_printf(out, "- **%s**: ", report->facts.items[i].title);
        add_clean(out, report->facts.items[i].text);
        kino__buffer_add(out, KINO__STR("\n"));
    }
    for (size_t i = 0; i < report->notes.count; i++) {
        kino__buffer_add(out, KINO__STR("- **Note**: "));
        add_clean(out, kino__render_note(render, &report->notes.items[i]));
        kino__buffer_add(out, KINO__STR("\n"));
    }
}

static void add_step(kino__buffer *out, const kino__report *report)
{
    kino__buffer_printf(out, "\n## %s\n\n", report->has_step ? report->step_title : "Step time");
    if (!report->has_step) {
        kino__buffer_add(out, KINO__STR("not available: "));
        add_clean(out, report->step_note);
        kino__buffer_add(out, KINO__STR("\n"));
        return;
    }
    size_t cells[KINO__REPORT_ROLES];
    kino__bar_cells(report->step.part, KINO__REPORT_ROLES, BAR_WIDTH, cells);
    kino__buffer_add(out,
                     KINO__STR("| part | time | share | |\n|---|---:|---:|---|\n| **step** | "));
    kino__format_duration(out, report->step.total);
    kino__buffer_add(out, KINO__STR(" | 100.0 % | "));
    add_clean(out, report->step_note);
    kino__buffer_add(out, KINO__STR(" |\n"));
    for (int r = 0; r < KINO__REPORT_ROLES; r++) {
        if (report->step.part[r] <= 0)
            continue;
        kino__buffer_printf(out, "| %s | ", report->roles[r]);
        kino__format_duration(out, report->step.part[r]);
        kino__buffer_printf(out, " | %.1f %% | ",
                            kino__share_percent(report->step.part[r], report->step.total));
        for (size_t i = 0; i < cells[r]; i++)
            kino__buffer_add(out, KINO__STR("█"));
        kino__buffer_add(out, KINO__STR(" |\n"));
    }
}

static void add_finding(kino__buffer *out, const kino__report_finding *f, size_t number,
                        bool is_full)
{
    kino__buffer_printf(out, "%zu. **", number);
    add_clean(out, f->title);
    kino__buffer_add(out, KINO__STR("**"));
    if (kino__report_has_gain(f->gain_percent))
        kino__buffer_printf(out, " (up to %.1f %%%s%.*s)", f->gain_percent,
                            f->whose.size ? " of " : "", KINO__STR_ARG(f->whose));
    kino__buffer_add(out, KINO__STR("  \n   "));
    add_clean(out, f->seen);
    if (is_full && f->why.size) {
        kino__buffer_add(out, KINO__STR("  \n   "));
        add_clean(out, f->why);
    }
    kino__buffer_add(out, KINO__STR("  \n   → "));
    add_clean(out, f->todo);
    kino__buffer_add(out, KINO__STR("\n"));
    if (is_full && f->evidence.count) {
        kino__buffer_add(out, KINO__STR("   events \\["));
        kino__format_ids(out, f->evidence);
        kino__buffer_add(out, KINO__STR("\\]\n"));
    }
}

static void add_findings(kino__render *render, const kino__report *report)
{
    kino__buffer *out = &render->text;
    size_t shown = 0, more = 0;
    kino__buffer_printf(out, "\n## %s\n\n", report->is_full ? "What to do" : "What to do first");
    for (size_t i = 0; i < report->findings.count; i++) {
        bool is_info = kino__str_is(report->findings.items[i].severity, "info");
        if (report->is_full || (shown < TOP_FINDINGS && !is_info))
            add_finding(out, &report->findings.items[i], ++shown, report->is_full);
        else
            more++;
    }
    if (shown == 0 && more)
        kino__buffer_printf(out, "nothing about the program; %s shows %zu %s about the recording\n",
                            kino__render_full(render), more, more == 1 ? "note" : "notes");
    else if (shown == 0)
        kino__buffer_add(out, KINO__STR("nothing to recommend\n"));
}

static kino_status add_section(kino__render *render, const kino__report *report,
                               const kino__report_section *section, kino_error *err)
{
    kino__buffer *out = &render->text;
    kino__buffer_printf(out, "\n## %s\n\n", section->title);
    if (!section->table) {
        add_clean(out, section->note.size ? section->note : KINO__STR("not available"));
        kino__buffer_add(out, KINO__STR("\n"));
        return KINO_OK;
    }
    kino__table table = *section->table;
    uint64_t kept = render->limit, rows = kino__table_row_count(&table);
    if (!report->is_full) {
        render->limit = section->brief_limit;
        table.hidden |= section->brief_hidden;
    }
    uint64_t limit = render->limit;
    kino_status st = kino__render_md_table(render, &table, err);
    render->limit = kept;
    if (limit && limit < rows)
        kino__buffer_printf(out, "\n%llu of %llu rows\n", (unsigned long long)limit,
                            (unsigned long long)rows);
    if (section->note.size) {
        kino__buffer_add(out, KINO__STR("\n"));
        add_clean(out, section->note);
        kino__buffer_add(out, KINO__STR("\n"));
    }
    return st;
}

static kino_status render_report(kino__render *render, const kino__report *report, kino_error *err)
{
    add_head(render, &render->text, report);
    add_step(&render->text, report);
    add_findings(render, report);
    for (size_t i = 0; i < report->sections.count; i++)
        if (report->is_full || report->sections.items[i].is_brief)
            KINO_TRY(add_section(render, report, &report->sections.items[i], err));
    return KINO_OK;
}

const kino__report_form kino__report_form_md = {"md", render_report};
