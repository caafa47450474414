/* exposed_copy.c - copies between host and device, from or to pinned memory, during which nothing is
 * computed: weights or caches that are loaded from the host, batches that come when they are needed.
 *
 * Gain: the part of these copies that no computation hides. */
#include "rule/copies.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.05, "share of the step time in such copies that are not hidden"},
    {0},
};

static const char *advice(const kino__program_kind *program)
{
    if (kino__program_is_torch(program))
        return "keep what each step needs on the device; copy the rest one step ahead with "
               "non_blocking=True on a stream of its own (torch.cuda.Stream), so that it runs "
               "during "
               "computation";
    return "keep what each step needs on the device; copy the rest one step ahead, asynchronously "
           "and on a stream of its own, so that it runs during computation";
}

static void look(const kino__rule_look *l)
{
    kino__copies copies = kino__copies_find(l, KINO__SCAN_HOST_COPY);
    kino__finding *f =
        kino__copies_add(l, &copies, l->thresholds[T_SHARE], "between host and device");
    if (!f)
        return;
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "the device waits for copies from or to the host");
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "a link to the host is 10 to 50 times slower than the memory of the device");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", advice(l->program));
}

const kino__rule_def kino__rule_exposed_copy = {
    .name = "exposed-copy",
    .help = "copies between host and device that are not hidden behind computation",
    .gain = "the part of these copies that is not hidden behind computation",
    .thresholds = thresholds,
    .look = look,
};
