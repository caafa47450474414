/* report_forms.c - the list of the forms of a report, what they share, and its way to the sink. */
#include "render/report.h"

const kino__report_form *kino__report_form_find(const char *name)
{
    static const kino__report_form *const forms[] = {&kino__report_form_table,
                                                     &kino__report_form_json, &kino__report_form_md,
                                                     &kino__report_form_html};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!name || strcmp(forms[i]->name, name) == 0)
            return forms[i];
    return NULL;
}

void kino__format_ids(kino__buffer *out, kino__id_list list)
{
    for (size_t i = 0; i < list.count; i++)
        kino__buffer_printf(out, "%s%lld", i ? ", " : "", (long long)list.ids[i]);
}

kino_status kino__render_report(kino__render *render, const kino__report_form *form,
                                const kino__report *report, kino_error *err)
{
    kino_status st = form->render(render, report, err);
    if (st == KINO_OK)
        st = kino__render_flush(render, true, err);
    kino__buffer_deinit(&render->text);
    return st;
}
