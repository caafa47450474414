/* claim.c - which time a finding is about; settle.c decides who keeps it. */
#include "rule/rule.h"

void kino__finding_claim(kino__findings *findings, const kino__finding *finding,
                         kino__interval time)
{
    if (time.end <= time.start || finding < findings->items.items ||
        finding >= findings->items.items + findings->items.count)
        return; /* nothing; or a finding that found no memory */
    size_t place = (size_t)(finding - findings->items.items);
    kino__claim *last =
        findings->claims.count ? &findings->claims.items[findings->claims.count - 1] : NULL;
    if (last && last->finding == place && time.start >= last->time.start &&
        time.start <= last->time.end) {
        last->time.end = time.end > last->time.end ? time.end : last->time.end;
        return;
    }
    kino__claim *slot = kino__vec_add(&findings->claims);
    if (slot)
        *slot = (kino__claim){place, time};
    else
        findings->failed = true;
}

void kino__finding_claim_list(kino__findings *findings, const kino__finding *finding,
                              const kino__intervals *list)
{
    for (size_t i = 0; i < list->count; i++)
        kino__finding_claim(findings, finding, list->items[i]);
}

void kino__finding_claim_cover(kino__findings *findings, const kino__finding *finding,
                               const kino__cover *cover, int64_t start, int64_t end)
{
    for (size_t i = kino__cover_find(cover, start);
         i < cover->list.count && cover->list.items[i].start < end; i++) {
        kino__interval part = cover->list.items[i];
        part.start = part.start > start ? part.start : start;
        part.end = part.end < end ? part.end : end;
        kino__finding_claim(findings, finding, part);
    }
}

static void claim_and_free(const kino__rule_look *l, const kino__finding *f, kino__intervals *list,
                           bool ok)
{
    if (ok)
        kino__finding_claim_list(l->out, f, list);
    else
        l->out->failed = true;
    kino__vec_deinit(list);
}

void kino__scan_claim_row(const kino__rule_look *l, const kino__finding *f, uint32_t row)
{
    kino__intervals list = {0};
    bool ok = kino__scan_add_span(l->scan, kino__scan_interval(l->scan, row), &list);
    claim_and_free(l, f, &list, ok);
}

void kino__scan_claim_work(const kino__rule_look *l, const kino__finding *f, uint32_t top)
{
    kino__intervals list = {0};
    bool ok = kino__scan_add_work(l->scan, top, &list);
    claim_and_free(l, f, &list, ok);
}
