/* report_json.c - a report for programs: what was said, with the events behind it, and the whole
 * answers of all analyses. The form is in docs/man/kino-report.md. */
#include <math.h>

#include "base/error.h"
#include "render/report.h"

static void add_text(kino__json *json, const char *key, kino_str text)
{
    kino__json_key(json, key);
    kino__json_string(json, text);
}

static void add_ids(kino__json *json, kino__id_list evidence)
{
    kino__json_key(json, "evidence");
    kino__json_begin_array(json);
    for (size_t i = 0; i < evidence.count; i++)
        kino__json_int(json, evidence.ids[i]);
    kino__json_end_array(json);
}

static void add_facts(kino__render *render, kino__json *json, const kino__report *report)
{
    kino__json_newline(json, 2);
    kino__json_key(json, "facts");
    kino__json_begin_object(json);
    for (size_t i = 0; i < report->facts.count; i++)
        add_text(json, report->facts.items[i].name, report->facts.items[i].text);
    kino__json_end_object(json);
    kino__json_newline(json, 2);
    kino__json_key(json, "notes");
    kino__json_begin_array(json);
    for (size_t i = 0; i < report->notes.count; i++)
        kino__json_string(json, kino__render_note(render, &report->notes.items[i]));
    kino__json_end_array(json);
    kino__render_hints(render, json, report->notes.items, report->notes.count);
    kino__json_newline(json, 2);
    kino__json_key(json, "summary");
    kino__json_begin_array(json);
    for (size_t i = 0; i < report->summary.count; i++) {
        kino__json_newline(json, 3);
        kino__json_begin_object(json);
        add_text(json, "text", report->summary.items[i].text);
        add_ids(json, report->summary.items[i].evidence);
        kino__json_end_object(json);
    }
    kino__json_end_array(json);
}

static void add_bar(kino__json *json, const kino__report *report, const kino__report_bar *bar,
                    bool has_evidence)
{
    kino__json_begin_object(json);
    add_text(json, "name", bar->label);
    kino__json_key(json, "time");
    kino__json_int(json, bar->total);
    kino__json_key(json, "parts");
    kino__json_begin_array(json);
    for (int r = 0; r < KINO__REPORT_ROLES; r++) {
        kino__json_begin_object(json);
        add_text(json, "name", kino__str_from(report->roles[r]));
        kino__json_key(json, "time");
        kino__json_int(json, bar->part[r]);
        kino__json_key(json, "percent");
        kino__json_double(json, kino__share_percent(bar->part[r], bar->total));
        if (has_evidence)
            add_ids(json, report->role_evidence[r]);
        kino__json_end_object(json);
    }
    kino__json_end_array(json);
    add_ids(json, bar->evidence);
    kino__json_end_object(json);
}

static void add_bars(kino__json *json, const kino__report *report, const char *key,
                     const kino__report_bars *bars)
{
    kino__json_newline(json, 2);
    kino__json_key(json, key);
    kino__json_begin_array(json);
    for (size_t i = 0; i < bars->count; i++) {
        kino__json_newline(json, 3);
        add_bar(json, report, &bars->items[i], false);
    }
    kino__json_end_array(json);
}

static void add_step(kino__json *json, const kino__report *report)
{
    kino__json_newline(json, 2);
    kino__json_key(json, "step");
    if (report->has_step)
        add_bar(json, report, &report->step, true);
    else
        kino__json_null(json);
    add_text(json, "step_note", report->step_note);
    add_bars(json, report, "ranks", &report->ranks);
    add_bars(json, report, "steps", &report->steps);
}

static kino_status add_sections(kino__render *render, kino__json *json, const kino__report *report,
                                kino_error *err)
{
    kino__json_newline(json, 2);
    kino__json_key(json, "sections");
    kino__json_begin_array(json);
    for (size_t i = 0; i < report->sections.count; i++) {
        const kino__report_section *section = &report->sections.items[i];
        kino__json_newline(json, 3);
        kino__json_begin_object(json);
        add_text(json, "name", kino__str_from(section->name));
        add_text(json, "title", kino__str_from(section->title));
        kino__json_key(json, "note");
        if (section->note.size)
            kino__json_string(json, section->note);
        else
            kino__json_null(json);
        add_ids(json, section->evidence);
        kino__json_key(json, "is_available");
        kino__json_bool(json, section->table != NULL);
        if (section->table)
            KINO_TRY(kino__render_json_table(render, json, section->table, err));
        kino__json_end_object(json);
        KINO_TRY(kino__render_flush(render, false, err));
    }
    kino__json_end_array(json);
    return KINO_OK;
}

static void add_list(kino__json *json, const char *key, kino__id_list list)
{
    kino__buffer text = {0};
    kino__buffer_add(&text, KINO__STR("["));
    kino__format_ids(&text, list);
    kino__buffer_add(&text, KINO__STR("]"));
    kino__json_key(json, key);
    kino__json_raw(json, kino__buffer_str(&text));
    json->out->failed |= text.failed;
    kino__buffer_deinit(&text);
}

static void add_recommendations(kino__json *json, const kino__report *report)
{
    kino__json_newline(json, 1);
    kino__json_key(json, "recommendations");
    kino__json_begin_array(json);
    for (size_t i = 0; i < report->findings.count; i++) {
        const kino__report_finding *f = &report->findings.items[i];
        kino__json_newline(json, 2);
        kino__json_begin_object(json);
        add_text(json, "rule", f->rule);
        add_text(json, "severity", f->severity);
        add_text(json, "title", f->title);
        add_text(json, "seen", f->seen);
        add_text(json, "why", f->why);
        add_text(json, "do", f->todo);
        kino__json_key(json, "gain_percent");
        kino__json_double(json, f->gain_percent);
        add_list(json, "ranks", f->ranks);
        add_list(json, "evidence", f->evidence);
        kino__json_end_object(json);
    }
    kino__json_end_array(json);
}

static kino_status render_report(kino__render *render, const kino__report *report, kino_error *err)
{
    kino__json json = {.out = &render->text};
    kino__json_begin_object(&json);
    kino__json_key(&json, "kino");
    kino__json_int(&json, 1);
    kino__json_newline(&json, 1);
    kino__json_key(&json, "report");
    kino__json_begin_object(&json);
    add_text(&json, "path", report->path);
    add_facts(render, &json, report);
    add_step(&json, report);
    KINO_TRY(add_sections(render, &json, report, err));
    kino__json_end_object(&json);
    kino__json_newline(&json, 1);
    kino__json_key(&json, "results");
    kino__json_begin_array(&json);
    for (size_t i = 0; i < report->results.count; i++) {
        kino__json_newline(&json, 2);
        KINO_TRY(kino__render_json_result(render, &json, report->results.items[i], err));
    }
    kino__json_end_array(&json);
    add_recommendations(&json, report);
    kino__json_end_object(&json);
    kino__buffer_add(&render->text, KINO__STR("\n"));
    return KINO_OK;
}

const kino__report_form kino__report_form_json = {"json", render_report};
