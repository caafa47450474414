/* verdict.c - the verdict on stragglers; see the header.
 *
 * Cost: a sort per step and rank; peers x steps of memory. */
#include "analysis/verdict/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/say.h"
#include "analysis/statistics.h"
#include "analysis/verdict/verdict_chance.h"
#include "base/compare.h"

const char *kino__slow_cause_name(kino__slow_cause cause)
{
    static const char *const names[] = {"kernels", "data loader", "copies", "host"};
    return names[cause];
}

/* -- peers -- */

/* Ranks that do the same work, and the steps that all of them have. */
typedef struct peers {
    const kino__verdict_facts *facts;
    KINO__VEC(uint32_t) members;   /* ranks of the facts */
    KINO__VEC(int64_t) numbers;    /* of the common steps */
    const kino__verdict_step **at; /* members x numbers */
    int64_t *scratch;              /* as many as members, and a row of numbers for each and one */
    int64_t *excess;               /* members x numbers */
    int64_t *least;                /* exposed communication of a member, of each step */
    double *own;                   /* members x numbers, three times: for chance */
    bool *is_slow;                 /* of each member */
    uint32_t unusual;              /* steps that were left out */
} peers;

static void peers_deinit(peers *p)
{
    kino__vec_deinit(&p->members);
    kino__vec_deinit(&p->numbers);
    free(p->at);
    free(p->scratch);
    free(p->excess);
    free(p->least);
    free(p->own);
    free(p->is_slow);
}

static size_t first_step_of(const kino__verdict_facts *facts, size_t rank)
{
    size_t first = 0;
    for (size_t i = 0; i < rank; i++)
        first += facts->ranks.items[i].step_count;
    return first;
}

static const kino__verdict_step *find_step(const kino__verdict_facts *facts, uint32_t rank,
                                           size_t first, int64_t number)
{
    for (size_t i = first; i < first + facts->ranks.items[rank].step_count; i++)
        if (facts->steps.items[i].number == number)
            return &facts->steps.items[i];
    return NULL;
}

static const kino__verdict_step *step_at(const peers *p, size_t member, size_t step)
{
    return p->at[member * p->numbers.count + step];
}

/* Communication that costs the member time: where its host sets the pace no more than what
 * everybody has, the transfer. */
static int64_t exposed_at(const peers *p, size_t member, size_t step)
{
    const kino__verdict_step *s = step_at(p, member, step);
    return s->is_host_bound && p->least[step] < s->exposed ? p->least[step] : s->exposed;
}

static int64_t own_at(const peers *p, size_t member, size_t step)
{
    return step_at(p, member, step)->total - exposed_at(p, member, step);
}

static void find_least(peers *p)
{
    for (size_t s = 0; s < p->numbers.count; s++) {
        p->least[s] = INT64_MAX;
        for (size_t m = 0; m < p->members.count; m++)
            if (step_at(p, m, s)->exposed < p->least[s])
                p->least[s] = step_at(p, m, s)->exposed;
    }
}

static int64_t median_of(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, kino__compare_ints);
    return values[(count - 1) / 2];
}

/* Of an even number the mean of the middle two, as in find_excess: the parts of an excess add up. */
static int64_t middle_of(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, kino__compare_ints);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Steps that are unusual for all (warm-up, a checkpoint, an evaluation) do not say who is slow: those
 * that are longer than the median by the factor of the rules warm-up and slow-steps are left out.
 * `numbers` are places in `found`, which has `count` for each member. */
static bool leave_out_unusual(peers *p, const kino__verdict_step **found, size_t count)
{
    const double factor = 1.5;
    size_t common = p->numbers.count, members = p->members.count;
    int64_t *length = calloc(2 * common + 1, sizeof *length), *sorted = length + common;
    if (!length)
        return false;
    for (size_t s = 0; s < common; s++) {
        for (size_t m = 0; m < members; m++)
            length[s] += found[m * count + (size_t)p->numbers.items[s]]->total / (int64_t)members;
        sorted[s] = length[s];
    }
    double limit = common ? factor * (double)median_of(sorted, common) : 0;
    p->numbers.count = 0;
    for (size_t s = 0; s < common; s++)
        if ((double)length[s] <= limit)
            p->numbers.items[p->numbers.count++] = p->numbers.items[s];
    p->unusual = (uint32_t)(common - p->numbers.count);
    free(length);
    return true;
}

/* A slot for each step of a trace, by number, in the order of the member that has fewest; steps
 * that one of the others lacks (a recording that ended earlier) are left out. */
static bool find_common_steps(peers *p)
{
    const kino__verdict_facts *facts = p->facts;
    uint32_t first = p->members.items[0];
    for (size_t m = 1; m < p->members.count; m++)
        if (facts->ranks.items[p->members.items[m]].step_count <
            facts->ranks.items[first].step_count)
            first = p->members.items[m];
    size_t from = first_step_of(facts, first), count = facts->ranks.items[first].step_count;
    const kino__verdict_step **found = calloc(p->members.count * count + 1, sizeof *found);
    p->at = calloc(p->members.count * count + 1, sizeof(const kino__verdict_step *));
    bool ok = found && p->at && kino__vec_reserve(&p->numbers, count + 1);
    for (size_t m = 0; ok && m < p->members.count; m++) {
        uint32_t rank = p->members.items[m];
        size_t start = first_step_of(facts, rank), near = 0;
        for (size_t i = 0; i < count; i++) {
            int64_t number = facts->steps.items[from + i].number;
            /* Steps of all ranks come in the same order: the next one is mostly it. */
            bool is_next = near < facts->ranks.items[rank].step_count &&
                           facts->steps.items[start + near].number == number;
            found[m * count + i] =
                is_next ? &facts->steps.items[start + near] : find_step(facts, rank, start, number);
            if (found[m * count + i])
                near = (size_t)(found[m * count + i] - &facts->steps.items[start]) + 1;
        }
    }
    for (size_t i = 0; ok && i < count; i++) {
        bool is_common = true;
        for (size_t m = 0; m < p->members.count; m++)
            is_common &= found[m * count + i] && found[m * count + i]->total > 0;
        if (is_common)
            p->numbers.items[p->numbers.count++] = (int64_t)i;
    }
    ok = ok && leave_out_unusual(p, found, count);
    for (size_t m = 0; ok && m < p->members.count; m++)
        for (size_t s = 0; s < p->numbers.count; s++)
            p->at[m * p->numbers.count + s] = found[m * count + (size_t)p->numbers.items[s]];
    free(found);
    return ok;
}

/* -- excess -- */

/* Sorted values without the one of that size: the k-th of the rest. */
static int64_t without(const int64_t *sorted, size_t k, int64_t value)
{
    return sorted[value <= sorted[k] ? k + 1 : k];
}

/* Own time less the median of the other members'; of an even number the mean of the middle two, so
 * that nobody is slow because another one is fast. */
static void find_excess(peers *p)
{
    size_t steps = p->numbers.count, count = p->members.count;
    size_t low = (count - 2) / 2, high = (count - 1) / 2;
    for (size_t s = 0; s < steps; s++) {
        for (size_t m = 0; m < count; m++)
            p->scratch[m] = own_at(p, m, s);
        qsort(p->scratch, count, sizeof *p->scratch, kino__compare_ints);
        for (size_t m = 0; m < count; m++) {
            int64_t own = own_at(p, m, s);
            p->excess[m * steps + s] =
                own - (without(p->scratch, low, own) + without(p->scratch, high, own)) / 2;
        }
    }
}

static int64_t median_excess(peers *p, size_t member)
{
    size_t steps = p->numbers.count;
    memcpy(p->scratch, p->excess + member * steps, steps * sizeof *p->scratch);
    return median_of(p->scratch, steps);
}

static int64_t mean_step(const peers *p)
{
    double sum = 0;
    size_t count = p->members.count * p->numbers.count;
    for (size_t i = 0; i < count; i++)
        sum += (double)p->at[i]->total;
    return (int64_t)(sum / (double)count);
}

static uint32_t count_slow(const peers *p, size_t member, double limit)
{
    uint32_t count = 0;
    for (size_t s = 0; s < p->numbers.count; s++)
        count += (double)p->excess[member * p->numbers.count + s] > limit;
    return count;
}

/* How far apart the own times of those are that are not above the limit; -1: there are not two. */
static double spread_of_others(const peers *p, double limit)
{
    double largest = 0;
    for (size_t s = 0; s < p->numbers.count; s++) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        size_t others = 0;
        for (size_t m = 0; m < p->members.count; m++) {
            if ((double)p->excess[m * p->numbers.count + s] > limit)
                continue;
            int64_t own = own_at(p, m, s);
            low = own < low ? own : low;
            high = own > high ? own : high;
            others++;
        }
        if (others < 2)
            return -1;
        largest = (double)(high - low) > largest ? (double)(high - low) : largest;
    }
    return largest;
}

/* How far apart the own times of all others are, in the step where that is most; below 0: there is
 * one other. */
static int64_t range_without(const peers *p, size_t member)
{
    int64_t largest = p->members.count > 2 ? 0 : -1;
    for (size_t s = 0; s < p->numbers.count && largest >= 0; s++) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (size_t m = 0; m < p->members.count; m++) {
            int64_t own = own_at(p, m, s);
            low = m != member && own < low ? own : low;
            high = m != member && own > high ? own : high;
        }
        largest = high - low > largest ? high - low : largest;
    }
    return largest;
}

/* How far the median of the steps may be off by chance: from the median of their distances to it,
 * which a few strange steps do not move. */
static double deviation_of(peers *p, size_t member, int64_t excess)
{
    size_t steps = p->numbers.count;
    for (size_t s = 0; s < steps; s++)
        p->scratch[s] = llabs(p->excess[member * steps + s] - excess);
    return 1.4826 * (double)median_of(p->scratch, steps) / sqrt((double)steps);
}

/* How far the median of the steps would be off by chance if the member were like its peers. */
static double excess_by_chance(peers *p, size_t member, int64_t step)
{
    const double usual = 0.01; /* of the step: what ranks change from step to step */
    size_t steps = p->numbers.count, at = 0;
    for (size_t m = 0; m < p->members.count; m++)
        for (size_t s = 0; s < steps && m != member; s++)
            p->own[at++] = (double)own_at(p, m, s);
    return kino__verdict_chance(p->own, p->members.count - 1, steps, usual * (double)step,
                                p->own + at);
}

/* Nearly all steps must show half of it: four of five, three of four. */
static bool shows_in_steps(const peers *p, size_t member, int64_t excess, double least)
{
    size_t steps = p->numbers.count;
    double half = (double)excess / 2;
    uint32_t slow = count_slow(p, member, half > least ? half : least);
    return steps > 2 ? slow * 5 >= steps * 4 || (steps == 4 && slow == 3) : slow == steps;
}

/* Is it slow again and again? By chance some rank is always the last. One or two steps say little;
 * there it must stand out from the others, or be much. */
static bool is_persistent(peers *p, size_t member, int64_t excess, int64_t step, double share)
{
    size_t steps = p->numbers.count;
    if (steps == 1) /* nobody knows whether it would be slow again */
        return (double)excess > 4 * share * (double)step && excess > 2 * range_without(p, member);
    if (!shows_in_steps(p, member, excess, share / 2 * (double)step) ||
        (double)excess <= excess_by_chance(p, member, step))
        return false;
    if (steps > 2)
        return (double)excess > 2 * deviation_of(p, member, excess);
    int64_t *two = &p->excess[member * steps];
    if (llabs(two[0] - two[1]) >= excess) /* they do not agree */
        return false;
    double spread = spread_of_others(p, share * (double)step);
    double least = 1.5 * share * (double)step;
    least = spread >= 0 && 4 * spread < least ? 4 * spread : least;
    return (double)excess > least && excess > range_without(p, member);
}

static int64_t median_own(peers *p, size_t member)
{
    for (size_t s = 0; s < p->numbers.count; s++)
        p->scratch[s] = own_at(p, member, s);
    return median_of(p->scratch, p->numbers.count);
}

/* How much the others differ among themselves, over all steps. Others are those that are not above
 * the limit. */
static double deviation_between(peers *p, double limit, size_t *others)
{
    double mean = 0, squares = 0;
    *others = 0;
    for (size_t m = 0; m < p->members.count; m++) {
        if ((double)median_excess(p, m) > limit)
            continue;
        double own = (double)median_own(p, m), away = own - mean;
        mean += away / (double)++*others;
        squares += away * (own - mean);
    }
    return *others > 1 ? sqrt(squares / (double)(*others - 1)) : 0;
}

/* Is the difference none of those that there are between any ranks? Of less than three others
 * nothing can be said. */
static bool differs_from_others(peers *p, int64_t excess, double limit)
{
    const double deviations = 3;
    size_t others;
    double between = deviation_between(p, limit, &others);
    return others < 3 || (double)excess > deviations * between;
}

/* Are the others so alike that one more of their kind would be above them by as much in only one of
 * five hundred runs? */
static bool stands_out(peers *p, int64_t excess, double limit)
{
    size_t others;
    double between = deviation_between(p, limit, &others);
    if (others < 2)
        return false;
    double allowed = kino__student_t(0.002 / (double)(others + 1), others - 1);
    return (double)excess > allowed * sqrt(1 + 1 / (double)others) * between;
}

/* Above the share of the step; from half of it on where the others are alike. */
static bool is_slow(peers *p, size_t member, int64_t step, double share)
{
    int64_t excess = median_excess(p, member);
    double limit = share * (double)step;
    if ((double)excess > limit)
        return is_persistent(p, member, excess, step, share) &&
               differs_from_others(p, excess, limit);
    return (double)excess > limit / 2 && p->numbers.count > 2 &&
           is_persistent(p, member, excess, step, share / 2) && stands_out(p, excess, limit / 2);
}

static bool find_slow(peers *p, double share)
{
    int64_t step = mean_step(p);
    bool has_any = false;
    for (size_t m = 0; m < p->members.count; m++) {
        p->is_slow[m] = is_slow(p, m, step, share);
        has_any |= p->is_slow[m];
    }
    return has_any;
}

/* -- waiting -- */

/* Medians over the steps: of the mean of the others, and of the usual one, which pauses of some of
 * them do not move. */
typedef struct waits {
    int64_t mean, usual;
} waits;

/* How much more exposed communication the others have than the slow ones. */
static waits find_waiting(peers *p)
{
    size_t steps = p->numbers.count, count = p->members.count;
    int64_t *means = p->scratch + count, *usual = means + steps;
    for (size_t s = 0; s < steps; s++) {
        int64_t least = INT64_MAX, sum = 0;
        size_t others = 0;
        for (size_t m = 0; m < count; m++)
            if (p->is_slow[m] && exposed_at(p, m, s) < least)
                least = exposed_at(p, m, s);
        for (size_t m = 0; m < count; m++) {
            if (p->is_slow[m])
                continue;
            p->scratch[others] = exposed_at(p, m, s) - least;
            sum = kino__sum(sum, p->scratch[others++]);
        }
        means[s] = others ? sum / (int64_t)others : 0;
        usual[s] = others ? middle_of(p->scratch, others) : 0;
    }
    return (waits){median_of(means, steps), median_of(usual, steps)};
}

/* How much longer than any of the others it usually is: what steps could be shorter. */
static int64_t find_lead(peers *p, size_t slowest)
{
    int64_t last = INT64_MIN;
    for (size_t m = 0; m < p->members.count; m++)
        if (!p->is_slow[m] && median_own(p, m) > last)
            last = median_own(p, m);
    return last == INT64_MIN ? 0 : median_own(p, slowest) - last;
}

/* -- cause -- */

static int64_t median_part_more(peers *p, size_t member, int cause)
{
    size_t steps = p->numbers.count;
    int64_t *values = p->scratch, *of_steps = p->scratch + p->members.count;
    for (size_t s = 0; s < steps; s++) {
        size_t others = 0;
        for (size_t m = 0; m < p->members.count; m++)
            if (!p->is_slow[m])
                values[others++] = step_at(p, m, s)->part[cause];
        int64_t typical = others ? middle_of(values, others) : 0;
        of_steps[s] = step_at(p, member, s)->part[cause] - typical;
    }
    return median_of(of_steps, steps);
}

/* The span, compared with those that are not slow. */
static bool find_span(const peers *p, size_t member, kino__slow_rank *slow)
{
    uint32_t *others = malloc((p->members.count + 1) * sizeof *others);
    size_t count = 0;
    for (size_t m = 0; others && m < p->members.count; m++)
        if (!p->is_slow[m])
            others[count++] = p->members.items[m];
    bool ok =
        others && kino__verdict_find_span(p->facts, others, count, p->members.items[member], slow);
    free(others);
    return ok;
}

static bool accuse(peers *p, size_t member, double share, kino__verdict *out)
{
    const kino__verdict_rank *rank = &p->facts->ranks.items[p->members.items[member]];
    double half = share / 2 * (double)mean_step(p), excess = (double)median_excess(p, member);
    kino__slow_rank *slow = kino__vec_add(&out->slow);
    if (!slow)
        return false;
    *slow = (kino__slow_rank){.rank = rank->rank,
                              .trace = rank->trace,
                              .first_step = rank->first_step,
                              .excess = median_excess(p, member),
                              .cause = KINO__SLOW_HOST,
                              .more = INT64_MIN,
                              .slow_steps =
                                  count_slow(p, member, excess / 2 < half ? excess / 2 : half),
                              .steps = (uint32_t)p->numbers.count,
                              .unusual = p->unusual};
    for (int c = 0; c < KINO__SLOW_CAUSES; c++) {
        int64_t more = median_part_more(p, member, c);
        if (more > slow->more) {
            slow->more = more;
            slow->cause = (kino__slow_cause)c;
        }
    }
    return find_span(p, member, slow);
}

/* -- judging -- */

static bool judge_peers(peers *p, double share, kino__verdict *out, bool *is_judged)
{
    enum { AT_LEAST = 2 };
    if (p->members.count < AT_LEAST)
        return true;
    if (!find_common_steps(p))
        return false;
    size_t steps = p->numbers.count, count = p->members.count;
    if (steps == 0)
        return true;
    *is_judged = true;
    p->scratch = malloc((steps * (count + 1) + count + 1) * sizeof *p->scratch);
    p->excess = malloc((steps * count + 1) * sizeof *p->excess);
    p->is_slow = calloc(count + 1, sizeof *p->is_slow);
    p->least = malloc((steps + 1) * sizeof *p->least);
    p->own = malloc(3 * steps * count * sizeof *p->own);
    if (!p->scratch || !p->excess || !p->is_slow || !p->least || !p->own)
        return false;
    find_least(p);
    find_excess(p);
    if (!find_slow(p, share))
        return true;
    waits waiting = find_waiting(p);
    int64_t largest = 0;
    size_t slowest = 0;
    for (size_t m = 0; m < count; m++)
        if (p->is_slow[m] && median_excess(p, m) > largest) {
            largest = median_excess(p, m);
            slowest = m;
        }
    if (waiting.usual < largest / 2)
        return true;
    size_t before = out->slow.count;
    for (size_t m = 0; m < count; m++)
        if (p->is_slow[m] && !accuse(p, m, share, out))
            return false;
    for (size_t i = before; i < out->slow.count; i++)
        if (i == 0 || out->slow.items[i].excess > out->slow.items[out->slowest].excess) {
            out->slowest = i;
            out->waiting = waiting.mean;
            out->lead = find_lead(p, slowest);
        }
    return true;
}

/* Do two ranks have collectives in a process group that is not all of the run? */
static bool share_group(const kino__verdict_facts *facts, uint32_t a, uint32_t b,
                        const uint32_t *users)
{
    size_t first[2] = {0, 0};
    uint32_t of[2] = {a, b};
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < of[k]; i++)
            first[k] += facts->ranks.items[i].group_count;
    for (uint32_t i = 0; i < facts->ranks.items[a].group_count; i++)
        for (uint32_t j = 0; j < facts->ranks.items[b].group_count; j++) {
            kino_strid id = facts->groups.items[first[0] + i];
            if (id == facts->groups.items[first[1] + j] && users[id] < facts->ranks.count)
                return true;
        }
    return false;
}

/* How many ranks a rank's input has passed; SIZE_MAX: unknown. */
static size_t depth_of(const kino__verdict_facts *facts, size_t rank)
{
    for (size_t depth = 0; depth < facts->ranks.count; depth++) {
        const kino__verdict_rank *r = &facts->ranks.items[rank];
        if (r->self == KINO_NO_INT)
            return SIZE_MAX;
        if (r->source == KINO_NO_INT)
            return depth;
        size_t next = 0;
        while (next < facts->ranks.count && facts->ranks.items[next].self != r->source)
            next++;
        if (next == facts->ranks.count)
            return SIZE_MAX;
        rank = next;
    }
    return SIZE_MAX;
}

/* Where traces do not name process groups: whom a rank receives from first is the stage before. */
static bool find_stages_by_peers(const kino__verdict_facts *facts, uint32_t *stage)
{
    for (size_t i = 0; i < facts->ranks.count; i++)
        if (depth_of(facts, i) == SIZE_MAX)
            return false;
    for (size_t i = 0; i < facts->ranks.count; i++)
        stage[i] = (uint32_t)depth_of(facts, i);
    return true;
}

/* The stage of each rank of a pipeline: ranks that share a group. Ranks without sends and receives
 * are all of stage 0: they do the same work. */
static bool find_stages(const kino__verdict_facts *facts, uint32_t *stage)
{
    size_t count = facts->ranks.count;
    uint32_t *users = calloc(kino__string_pool_count(&facts->texts) + 1, sizeof *users);
    bool is_pipeline = false;
    for (size_t i = 0; users && i < facts->groups.count; i++)
        users[facts->groups.items[i]]++;
    for (size_t i = 0; i < count; i++)
        is_pipeline |= facts->ranks.items[i].has_peer_to_peer;
    for (uint32_t i = 0; i < count; i++)
        stage[i] = is_pipeline ? i : 0;
    for (bool is_changed = users && is_pipeline; is_changed;) {
        is_changed = false;
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t k = 0; k < i; k++)
                if (stage[i] != stage[k] && share_group(facts, i, k, users)) {
                    uint32_t low = stage[i] < stage[k] ? stage[i] : stage[k];
                    stage[i] = stage[k] = low;
                    is_changed = true;
                }
    }
    bool is_known = !is_pipeline;
    for (uint32_t i = 0; i < count; i++)
        is_known |= stage[i] != i;
    if (!is_known)
        (void)find_stages_by_peers(facts, stage);
    bool ok = users != NULL;
    free(users);
    return ok;
}

static const char *what_lacks(const kino__verdict_facts *facts)
{
    int64_t communication = 0;
    bool has_steps = false;
    for (size_t i = 0; i < facts->ranks.count; i++) {
        communication = kino__sum(communication, facts->ranks.items[i].communication);
        has_steps |= facts->ranks.items[i].step_count > 0;
    }
    if (facts->ranks.count < 2)
        return "requires the traces of several ranks";
    if (!has_steps)
        return "the traces have no steps";
    if (communication <= 0)
        return "no communication in the steps";
    return NULL;
}

static int64_t mean_of_all(const kino__verdict_facts *facts)
{
    double sum = 0;
    for (size_t i = 0; i < facts->steps.count; i++)
        sum += (double)facts->steps.items[i].total;
    return facts->steps.count ? (int64_t)(sum / (double)facts->steps.count) : 0;
}

/* Processes without steps beside others that have some (launchers, loader workers) are no ranks. */
static bool takes_part(const kino__verdict_facts *facts, size_t rank, bool any_steps)
{
    const kino__verdict_rank *r = &facts->ranks.items[rank];
    return r->step_count > 0 && (r->has_steps || !any_steps);
}

bool kino__verdict_judge(const kino__verdict_facts *facts, double share, kino__verdict *out)
{
    *out = (kino__verdict){.step_time = mean_of_all(facts), .reason = what_lacks(facts)};
    if (out->reason)
        return true;
    size_t count = facts->ranks.count;
    uint32_t *stage = malloc((count + 1) * sizeof *stage);
    bool ok = stage && find_stages(facts, stage), is_judged = false, any_steps = false;
    for (size_t i = 0; i < count; i++)
        any_steps |= facts->ranks.items[i].has_steps;
    for (uint32_t s = 0; ok && s < count; s++) {
        peers p = {.facts = facts};
        for (uint32_t i = 0; ok && i < count; i++) {
            uint32_t *slot = NULL;
            if (stage[i] == s && takes_part(facts, i, any_steps)) {
                slot = kino__vec_add(&p.members);
                ok = slot != NULL;
            }
            if (slot)
                *slot = i;
        }
        ok = ok && judge_peers(&p, share > 0 ? share : KINO__VERDICT_SHARE, out, &is_judged);
        peers_deinit(&p);
    }
    if (!is_judged)
        out->reason = "no two ranks that do the same work have steps in common";
    free(stage);
    return ok;
}

void kino__verdict_deinit(kino__verdict *verdict)
{
    kino__vec_deinit(&verdict->slow);
}

/* -- words -- */

/* "train.py(147): step (Python function, 12.3 ms more)". Names of kernels are long: their beginning
 * will do. */
static void say_span(const kino__slow_rank *s, kino__buffer *out)
{
    enum { MOST_BYTES = 40 };
    if (s->what == KINO__PLACE_UNRECORDED) {
        kino__buffer_add(out, KINO__STR("; no span that was recorded accounts for it"));
        return;
    }
    if (s->span.size == 0)
        return;
    bool is_long = s->span.size > MOST_BYTES;
    size_t size = is_long ? MOST_BYTES : s->span.size;
    while (is_long && size && ((unsigned char)s->span.data[size] & 0xc0) == 0x80)
        size--; /* not within a character */
    kino__buffer_printf(out, ", first in %.*s%s (%s%s, %s more)", (int)size, s->span.data,
                        is_long ? "…" : "", kino__place_kind_name(s->what),
                        s->is_same_shape ? " of the same shape" : "", kino__say_time(s->span_more));
}

void kino__verdict_say(const kino__verdict *verdict, size_t i, kino__buffer *out)
{
    const kino__slow_rank *s = &verdict->slow.items[i];
    bool are_many = s->cause == KINO__SLOW_KERNELS || s->cause == KINO__SLOW_COPIES;
    kino__buffer_printf(out, "its %s take%s %s more per step than the median of its peers",
                        kino__slow_cause_name(s->cause), are_many ? "" : "s",
                        kino__say_time(s->more));
    say_span(s, out);
    if (i == verdict->slowest)
        kino__buffer_printf(out,
                            "; the other ranks wait %s per step for it in exposed communication",
                            kino__say_time(verdict->waiting));
}

void kino__verdict_note(const kino__verdict *verdict, kino_result *result)
{
    enum { MOST = 8 };
    for (size_t i = 0; i < verdict->slow.count && i < MOST; i++) {
        const kino__slow_rank *s = &verdict->slow.items[i];
        kino__buffer text = {0};
        kino__buffer_printf(&text, "%s %lld is %s: ", s->rank == KINO_NO_INT ? "trace" : "rank",
                            (long long)(s->rank == KINO_NO_INT ? s->trace : s->rank),
                            verdict->slow.count == 1 ? "the slowest" : "one of the slowest");
        kino__verdict_say(verdict, i, &text);
        kino__buffer_printf(&text, " (in %u of %u steps", s->slow_steps, s->steps);
        if (s->unusual)
            kino__buffer_printf(&text, "; not compared: %u that %s long on all ranks", s->unusual,
                                s->unusual == 1 ? "is" : "are");
        kino__buffer_add(&text, KINO__STR(")"));
        if (!text.failed)
            kino__result_note(result, "%.*s", (int)text.size, text.data);
        kino__buffer_deinit(&text);
    }
}

bool kino__verdict_add_note(const kino__verdict_facts *facts, kino_result *result)
{
    kino__verdict v;
    bool ok = kino__verdict_judge(facts, 0, &v);
    if (ok)
        kino__verdict_note(&v, result);
    kino__verdict_deinit(&v);
    return ok;
}
