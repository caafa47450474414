/* pointwise_kernels.c - much of the device's time is in kernels that touch each element once.
 *
 * Pointwise kernels, norms and reductions are bound by memory: each reads its inputs and writes its
 * result, however little it computes. Several in a row on one stream can become one kernel, which
 * reads and writes once. Kernels that a compiler made (triton_...) are fused already.
 *
 * Copies among them are fused with them; where copies take more than all the others, they are what
 * to speak of (casts_and_copies.c) and stay out.
 *
 * Gain: of each such row of kernels all but the longest, as far as the device is busy. Where costs
 * are known, the bytes between kernels that follow each other are said, too: a lower bound. */
#include <stdio.h>

#include "rule/kernel_kinds.h"
#include "rule/rule_costs.h"

enum { T_DEVICE, T_SHARE };

static const kino__threshold thresholds[] = {
    [T_DEVICE] = {"device", 0.25, "share of the kernel time in such kernels"},
    [T_SHARE] = {"share", 0.03, "share of the step time in such kernels"},
    {0},
};

/* Rows of kernels on one stream that could be one kernel; [1]: with the copies among them. */
typedef struct chains {
    const kino__rule_look *look;
    int64_t before; /* start of the last kernel: less means another stream */
    int64_t time[2], longest[2];
    uint64_t count, row_copies; /* of the row at hand: without copies, and these */
    size_t first;               /* its first copy */
    kino__intervals copies;     /* in all rows */
    uint64_t copy_count, followers;
    int64_t norms, copying; /* of norms; of all copies, in rows or not */
    double saved[2];
    const kino__cost_work *work; /* or NULL */
    int64_t written;             /* by the kernel before; KINO_NO_INT: unknown, or there is none */
    int64_t bytes;               /* written for the next kernel, and read by it */
} chains;

static void end_chain(chains *c)
{
    if (c->count == 0) { /* nothing but copies, if anything */
        c->copies.count = c->first;
    } else {
        c->followers += c->count - 1;
        c->copy_count += c->row_copies;
        for (int i = 0; i < 2; i++)
            c->saved[i] += (double)(c->time[i] - c->longest[i]);
    }
    memset(c->time, 0, sizeof c->time);
    memset(c->longest, 0, sizeof c->longest);
    c->count = c->row_copies = 0;
    c->first = c->copies.count;
    c->written = KINO_NO_INT;
}

/* What a kernel writes for the next one of its row is written and read for nothing. */
static void add_bytes(chains *c, uint32_t row)
{
    if (!c->work)
        return;
    if (c->written != KINO_NO_INT)
        c->bytes = kino__sum(c->bytes, kino__sum(c->written, c->written));
    c->written = kino__rule_bytes_written(c->work, row);
}

static bool is_bound(uint8_t kind)
{
    return kind == KINO__KERNEL_KIND_POINTWISE || kind == KINO__KERNEL_KIND_NORM ||
           kind == KINO__KERNEL_KIND_REDUCE;
}

static void add_to_row(chains *c, int with_copies, int64_t time)
{
    c->time[with_copies] += time;
    c->longest[with_copies] = time > c->longest[with_copies] ? time : c->longest[with_copies];
}

static bool see(void *context, const kino__kernel_info *kernel, uint8_t kind, int64_t time)
{
    chains *c = context;
    kino__interval span = kino__scan_interval(c->look->scan, kernel->row);
    bool is_copy = kind == KINO__KERNEL_KIND_COPY; /* in between it can be fused as well */
    if (span.start < c->before || !(is_bound(kind) || is_copy))
        end_chain(c);
    c->before = span.start;
    if (is_bound(kind) || is_copy)
        add_to_row(c, 1, time);
    if (is_copy) {
        c->row_copies++;
        c->copying = kino__sum(c->copying, time);
        if (!kino__scan_add_span(c->look->scan, span, &c->copies))
            c->look->out->failed = true;
    }
    if (!is_bound(kind))
        return false;
    add_to_row(c, 0, time);
    add_bytes(c, kernel->row);
    c->norms += kind == KINO__KERNEL_KIND_NORM ? time : 0;
    c->count++;
    return true;
}

/* Copies in rows of the others count with them, unless they take more than all of those. */
static bool takes_copies(const chains *c, const kino__kernel_sum *sum)
{
    return c->copy_count && c->copying <= sum->ops.total;
}

static void say_advice(const kino__rule_look *l, kino__finding *f, bool has_norms)
{
    kino__finding_say(
        l->out, f, KINO__SAY_DO, "fuse them: torch.compile(model)%s; %sfused operators%s",
        l->program->is_training ? "" : " under torch.inference_mode()",
        has_norms ? "norms together with their neighbors, " : "",
        l->program->is_training
            ? " (F.rms_norm, F.layer_norm, F.scaled_dot_product_attention instead of their parts) "
              "and a fused optimizer"
            : " (F.rms_norm, F.layer_norm, F.scaled_dot_product_attention) instead of their parts");
}

static void speak(const kino__rule_look *l, kino__kernel_sum *t, const chains *c)
{
    int64_t time = kino__intervals_total(t->list.items, t->list.count);
    double alone = (double)time / (double)t->ops.total; /* less than 1: streams run side by side */
    bool has_copies = takes_copies(c, t);
    int64_t gain = kino__scan_device_gain(l->scan, (int64_t)(c->saved[has_copies] * alone),
                                          l->facts->step_time);
    double steps = (double)l->facts->step_count;
    char ops[256], copies[64] = "", bytes[96] = "";
    if (has_copies)
        (void)snprintf(copies, sizeof copies, ", including %.0f copies",
                       (double)c->copy_count / steps);
    if (c->bytes > 0)
        (void)snprintf(bytes, sizeof bytes, ", and would move at least %.3g MB less",
                       (double)c->bytes / steps / 1e6);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "pointwise kernels that could be fused take much of the device time");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "%.0f pointwise kernels, norms and reductions per step: %s of the kernel time, %s of the "
        "step time; %.0f of them directly follow another%s%s. By operator: %s",
        (double)t->count / steps, kino__say_share(t->ops.total, t->all),
        kino__say_share(time, l->facts->step_time), (double)c->followers / steps, copies, bytes,
        kino__shares_say(&t->ops, l->trace, ops, sizeof ops));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "each reads and writes an entire tensor but computes little; a fused "
                      "sequence reads and writes only once");
    say_advice(l, f, c->norms > t->ops.total / 10);
    for (size_t i = 0; has_copies && i < c->copies.count; i++)
        if (!kino__scan_add_span(l->scan, c->copies.items[i], &t->list))
            l->out->failed = true;
    (void)kino__scan_unite(&t->list);
    kino__kernels_cite(l, f, t);
}

static void look(const kino__rule_look *l)
{
    chains c = {.look = l, .before = INT64_MIN, .written = KINO_NO_INT};
    kino__kernel_sum sum;
    if (l->profile->has_kernel && kino__program_is_torch(l->program))
        c.work = kino__rule_costs(l);
    kino__kernels_sum(l, see, &c, &sum);
    end_chain(&c);
    if (c.saved[takes_copies(&c, &sum)] > 0 &&
        kino__kernels_matter(l, &sum, l->thresholds[T_DEVICE], l->thresholds[T_SHARE]))
        speak(l, &sum, &c);
    kino__vec_deinit(&c.copies);
    kino__vec_deinit(&sum.list);
}

const kino__rule_def kino__rule_pointwise_kernels = {
    .name = "pointwise-kernels",
    .help = "sequences of pointwise kernels take much of the kernel time",
    .gain = "for each sequence, all kernels except the longest, times the busy share of the device",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_KIND,
    .is_about_kernels = true,
    .look = look,
};
