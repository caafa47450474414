/* allocator_churn.c - device memory is got from and given back to the driver inside the steps.
 *
 * PyTorch keeps device memory; cudaMalloc and cudaFree (pinned memory as well) belong to the first
 * step. The rule looks at the steps behind the first kept one, so it needs two.
 *
 * Gain: idle time within these calls. */
#include "rule/rule.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.005, "share of the step time in such calls, after the first step"},
    {0},
};

static void speak(const kino__rule_look *l, const kino__scan_items *calls, kino__scan_sum sum,
                  const kino__top *top)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_ALLOCATION];
    const kino__scan_item *worst = &items->items[top->index[0]];
    char line[160];
    kino__scan_line(l->scan, worst, line, sizeof line);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(sum.idle, l->facts->step_time), sum.idle);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "device memory is allocated and freed during steps");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%llu calls after the first step, %s (%s of the step time); the longest is "
                      "%s of %s%s%s",
                      (unsigned long long)sum.count, kino__say_time(sum.spent),
                      kino__say_share(sum.spent, l->facts->step_time),
                      kino__say_name(l->trace, worst->row),
                      kino__say_time(l->trace->dur[worst->row]), *line ? " at " : "", line);
    bool is_torch = kino__program_is_torch(l->program);
    kino__finding_say(
        l->out, f, KINO__SAY_WHY, "these calls are slow, and freeing memory waits for the device%s",
        is_torch ? "; after the first step, PyTorch's allocator should have all the memory it needs"
                 : "");
    kino__finding_say(
        l->out, f, KINO__SAY_DO, "%s",
        is_torch ? "remove torch.cuda.empty_cache() from the loop, keep sizes constant (pad "
                   "batches), set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or leave more "
                   "memory free"
                 : "allocate once and reuse the memory, or allocate from a pool (cudaMallocAsync, "
                   "hipMallocAsync)");
    for (size_t i = 0; i < calls->count; i++) {
        kino__interval call = kino__scan_interval(l->scan, calls->items[i].row);
        if (kino__scan_is_in_step(l->scan, call.start))
            kino__finding_claim_cover(l->out, f, &l->scan->idle, call.start, call.end);
    }
    for (size_t i = 0; i < top->count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[top->index[i]].row));
}

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_ALLOCATION];
    if (p->steps.count < 2)
        return;
    kino__scan_items later = {0};
    kino__top top = {0};
    for (size_t i = 0; i < items->count; i++) {
        uint32_t row = items->items[i].row;
        if (l->trace->ts[row] < p->steps.items[1].host_start)
            continue;
        kino__scan_item *slot = kino__vec_add(&later);
        if (!slot) {
            l->out->failed = true;
            break;
        }
        *slot = items->items[i];
        if (kino__scan_is_in_step(l->scan, l->trace->ts[row]))
            kino__top_add(&top, l->trace->dur[row], i);
    }
    kino__scan_sum sum;
    l->out->failed |= !kino__scan_sum_of(l->scan, &later, &sum);
    if (sum.count && kino__is_above(sum.spent, l->facts->step_time, l->thresholds[T_SHARE]))
        speak(l, &later, sum, &top);
    kino__vec_deinit(&later);
}

const kino__rule_def kino__rule_allocator_churn = {
    .name = "allocator-churn",
    .help = "cudaMalloc, cudaFree and similar calls after the first step",
    .gain = "idle time of the device during these calls",
    .thresholds = thresholds,
    .look = look,
};
