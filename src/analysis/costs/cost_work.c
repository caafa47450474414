/* cost_work.c - the work of a trace with its costs; see the header. */
#include "analysis/costs/cost_work.h"

#include <stdlib.h>

#include "analysis/costs/cost_classes.h"
#include "base/error.h"
#include "base/map.h"
#include "cost/family.h"
#include "names/communication.h"
#include "names/tensor_core.h"
#include "store/args.h"
#include "store/link.h"

/* What the name of a kernel says, looked up once for each text. */
enum { NAME_LOOKED_UP = 1, NAME_TENSOR = 2, NAME_COLLECTIVE = 4 };

enum { NOTHING = -1 }; /* of an account: no kernel has got its part */

/* An item, and the place of its account. */
typedef struct replayed {
    uint32_t item, account;
} replayed;

typedef struct maker {
    kino__cost_work *out;
    const kino__trace *trace;
    kino__trace *last; /* the trace, where nobody needs more of it than the caller; or NULL */
    const uint32_t *launch;
    uint8_t *names;    /* of each string */
    int64_t *total;    /* of each op: time of its kernels that it launched itself */
    int64_t *done;     /* the same, of those that have got their part */
    kino__map replays; /* hash of (op, launch) -> place in replay_* */
    KINO__VEC(int64_t) replay_total;
    KINO__VEC(int64_t) replay_done;
    KINO__VEC(replayed) replay_of; /* items of replays, in order */
    kino__op_call call;
    kino__text_cursor cursor;
} maker;

static uint8_t look_up(maker *m, uint32_t row)
{
    kino_strid id = m->trace->name[row];
    if (id == KINO_NO_STRING)
        return 0;
    if (!m->names[id]) {
        kino_str name = kino__trace_string(m->trace, id);
        m->names[id] = NAME_LOOKED_UP;
        if (kino__name_uses_tensor_cores(name, false))
            m->names[id] |= NAME_TENSOR;
        if (kino__comm_of_kernel(name).kind == KINO__COMM_CARRIES)
            m->names[id] |= NAME_COLLECTIVE;
    }
    return m->names[id];
}

/* -- the items -- */

static void find_operator(const maker *m, kino__work_item *item)
{
    item->around = kino__trace_costs_op_of(&m->out->costs, m->trace, item->row);
    item->op =
        item->around == KINO_NO_ROW ? KINO_NO_ROW : m->out->costs.ops.items[item->around].charged;
    if (item->op != KINO_NO_ROW)
        item->around = item->op;
}

/* Was the kernel launched outside the operator that it belongs to, by replaying a graph? */
static bool is_replay(const maker *m, uint32_t op, uint32_t launch)
{
    if (op == KINO_NO_ROW || launch == KINO_NO_ROW)
        return false;
    return m->out->costs.op_of_row[launch] == KINO_NO_ROW
               ? true
               : m->out->costs.ops.items[m->out->costs.op_of_row[launch]].charged != op;
}

/* The account of a replay: one for each (operator, launch). KINO_NO_ROW when memory is out. */
static uint32_t replay_account(maker *m, uint32_t op, uint32_t launch)
{
    uint32_t *place =
        kino__map_put(&m->replays, (uint64_t)op << 32 | launch, (uint32_t)m->replay_total.count);
    if (place && *place == m->replay_total.count) {
        int64_t *total = kino__vec_add(&m->replay_total), *done = kino__vec_add(&m->replay_done);
        if (!total || !done)
            return KINO_NO_ROW;
        *total = 0;
        *done = NOTHING;
    }
    return place ? *place : KINO_NO_ROW;
}

/* A kernel of a collective that no operator accounts for. */
static bool cost_collective(maker *m, kino__work_item *item)
{
    kino_str name = kino__trace_string(m->trace, m->trace->name[item->row]);
    if (!kino__op_call_read_kineto(&m->call, name,
                                   kino__args_text(m->trace, item->row, &m->cursor)))
        return false;
    kino__cost cost = kino__cost_of(m->out->model, &m->call);
    item->flops = cost.flops;
    item->bytes = kino__cost_bytes(&cost);
    return true;
}

/* Counts a kernel to its replay. */
static bool add_replayed(maker *m, const kino__work_item *item, int64_t time)
{
    uint32_t account = replay_account(m, item->op, item->launch);
    replayed *slot = account == KINO_NO_ROW ? NULL : kino__vec_add(&m->replay_of);
    if (!slot)
        return false;
    *slot = (replayed){(uint32_t)m->out->items.count - 1, account};
    m->replay_total.items[account] = kino__sum(m->replay_total.items[account], time);
    return true;
}

static bool add_kernel(maker *m, kino__work_item *item)
{
    uint8_t name = look_up(m, item->row);
    item->uses_tensor_cores = (name & NAME_TENSOR) != 0;
    item->kind = name & NAME_COLLECTIVE ? KINO__WORK_COLLECTIVE : KINO__WORK_KERNEL;
    find_operator(m, item);
    int64_t time = kino__work_time(m->out, item);
    if (item->op == KINO_NO_ROW)
        return item->kind != KINO__WORK_COLLECTIVE || cost_collective(m, item);
    if (is_replay(m, item->op, item->launch))
        return add_replayed(m, item, time);
    m->total[item->op] = kino__sum(m->total[item->op], time);
    return true;
}

static void add_copy(maker *m, kino__work_item *item, bool is_copy)
{
    item->kind = is_copy ? KINO__WORK_COPY : KINO__WORK_SET;
    find_operator(m, item);
    item->bytes = kino__args_int(kino__args_text(m->trace, item->row, &m->cursor), "bytes");
    item->flops = item->bytes == KINO_NO_INT ? KINO_NO_INT : 0;
    item->is_first = true;
}

/* Had the stream run dry when it was launched? Not the first work of a stream. */
static bool is_starved(const maker *m, uint32_t launch, int64_t busy_until)
{
    return launch != KINO_NO_ROW && busy_until != KINO_NO_TIME &&
           m->trace->ts[launch] >= busy_until;
}

static bool add_device_row(maker *m, uint32_t row, kino__kind kind, int64_t busy_until)
{
    kino__work_item *item = kino__vec_add(&m->out->items);
    if (!item)
        return false;
    *item = (kino__work_item){
        .row = row, .launch = m->launch[row], .flops = KINO_NO_INT, .bytes = KINO_NO_INT};
    item->is_starved = is_starved(m, item->launch, busy_until);
    if (kind == KINO__KIND_KERNEL)
        return add_kernel(m, item);
    add_copy(m, item, kind == KINO__KIND_MEMCPY);
    return true;
}

/* Room for all of them at once: a list that grows is there twice while it does. */
static bool reserve_items(maker *m)
{
    size_t count = 0;
    for (size_t t = 0; t < m->trace->tracks.count; t++)
        if (m->trace->tracks.items[t].kinds & KINO__KINDS_DEVICE)
            count += m->trace->tracks.items[t].count;
    return kino__vec_reserve(&m->out->items, count);
}

static bool add_device_rows(maker *m)
{
    if (!reserve_items(m))
        return false;
    for (size_t t = 0; t < m->trace->tracks.count; t++) {
        const kino__track *track = &m->trace->tracks.items[t];
        if (!(track->kinds & KINO__KINDS_DEVICE))
            continue;
        int64_t busy_until = KINO_NO_TIME;
        for (uint32_t row = track->first; row - track->first < track->count; row++) {
            kino__kind kind = kino__category_kind(m->trace->category[row]);
            bool is_work = m->trace->phase[row] == 'X' && m->trace->dur[row] != KINO_NO_TIME &&
                           (KINO__KIND_BIT(kind) & KINO__KINDS_DEVICE);
            if (!is_work)
                continue;
            if (!add_device_row(m, row, kind, busy_until))
                return false;
            int64_t end = kino__interval_of(m->trace->ts[row], m->trace->dur[row]).end;
            busy_until = end > busy_until ? end : busy_until;
        }
    }
    return true;
}

/* -- the parts -- */

/* What `whole` is worth between two moments of `total`; exact over all of them. Where none of them
 * took any time, the first has it all. */
static int64_t part(int64_t whole, int64_t from, int64_t to, int64_t total, bool is_first)
{
    if (whole == KINO_NO_INT)
        return KINO_NO_INT;
    if (total <= 0)
        return is_first ? whole : 0;
    __int128 start = (__int128)whole * from / total, end = (__int128)whole * to / total;
    return (int64_t)(end - start);
}

static void divide(maker *m)
{
    size_t replays = 0;
    for (size_t i = 0; i < m->out->items.count; i++) {
        kino__work_item *item = &m->out->items.items[i];
        const kino__cost *cost = kino__work_cost(m->out, item);
        bool is_own = replays == m->replay_of.count || m->replay_of.items[replays].item != i;
        uint32_t account = is_own ? KINO_NO_ROW : m->replay_of.items[replays++].account;
        if (item->kind > KINO__WORK_COLLECTIVE || !cost)
            continue;
        int64_t *done = is_own ? &m->done[item->op] : &m->replay_done.items[account];
        int64_t total = is_own ? m->total[item->op] : m->replay_total.items[account];
        int64_t from = *done == NOTHING ? 0 : *done, to = from + kino__work_time(m->out, item);
        item->is_first = *done == NOTHING;
        item->flops = part(cost->flops, from, to, total, item->is_first);
        item->bytes = part(kino__cost_bytes(cost), from, to, total, item->is_first);
        *done = to;
    }
}

/* -- products that matrix units could have done -- */

static kino__product_kind product_kind(const kino__cost *cost)
{
    if (cost->family == kino__cost_family_convolution.name)
        return KINO__PRODUCT_CONVOLUTION;
    bool is_matrix = cost->family == kino__cost_family_gemm.name ||
                     cost->family == kino__cost_family_grouped_gemm.name;
    return is_matrix ? KINO__PRODUCT_MATRIX : KINO__PRODUCT_OTHER;
}

static bool find_gap(maker *m, uint32_t op, const kino__matrix_units *units, uint8_t *gap)
{
    const kino__cost *cost = kino__trace_cost(&m->out->costs, op);
    uint32_t row = m->out->costs.ops.items[op].row;
    kino_str name = kino__trace_string(m->trace, m->trace->name[row]);
    bool is_event = kino__category_kind(m->trace->category[row]) == KINO__KIND_OP;
    bool ok = is_event ? kino__op_call_read_kineto(&m->call, name,
                                                   kino__args_text(m->trace, row, &m->cursor))
                       : kino__op_call_read_range(&m->call, name);
    if (ok)
        *gap = (uint8_t)kino__tensor_gap_of(&m->call.inputs, product_kind(cost), cost->precision,
                                            units);
    return ok;
}

/* Products none of whose kernels use matrix units; each is looked at once. */
static bool find_gaps(maker *m)
{
    enum { USES_THEM = 0xff, NOT_SEEN = 0xfe };
    size_t ops = m->out->costs.ops.count;
    uint8_t *gaps = malloc(ops + 1);
    uint32_t track = 0, known_track = UINT32_MAX;
    kino__matrix_units units = {0};
    if (!gaps)
        return false;
    memset(gaps, NOT_SEEN, ops + 1);
    for (size_t i = 0; i < m->out->items.count; i++)
        if (m->out->items.items[i].uses_tensor_cores && m->out->items.items[i].op != KINO_NO_ROW)
            gaps[m->out->items.items[i].op] = USES_THEM;
    bool ok = true;
    for (size_t i = 0; ok && i < m->out->items.count; i++) {
        kino__work_item *item = &m->out->items.items[i];
        const kino__cost *cost = kino__work_cost(m->out, item);
        if (item->kind != KINO__WORK_KERNEL || !cost || !cost->is_matrix ||
            gaps[item->op] == USES_THEM)
            continue;
        while (item->row - m->trace->tracks.items[track].first >=
               m->trace->tracks.items[track].count)
            track++;
        if (track != known_track)
            units = kino__matrix_units_of(m->trace, m->trace->tracks.items[track].device);
        known_track = track;
        if (gaps[item->op] == NOT_SEEN)
            ok = find_gap(m, item->op, &units, &gaps[item->op]);
        item->tensor_gap = gaps[item->op] < KINO__TENSOR_GAPS ? gaps[item->op] : 0;
    }
    free(gaps);
    return ok;
}

/* -- without a device -- */

static bool add_operator(maker *m, uint32_t index, bool is_charged)
{
    const kino__trace_costs *costs = &m->out->costs;
    kino__work_item *item = kino__vec_add(&m->out->items);
    if (!item)
        return false;
    const kino__cost *cost = kino__trace_cost(costs, index);
    *item = (kino__work_item){.row = costs->ops.items[index].row,
                              .launch = KINO_NO_ROW,
                              .op = is_charged ? index : KINO_NO_ROW,
                              .around = index,
                              .flops = is_charged ? cost->flops : KINO_NO_INT,
                              .bytes = is_charged ? kino__cost_bytes(cost) : KINO_NO_INT,
                              .kind = KINO__WORK_OPERATOR,
                              .is_first = true};
    return true;
}

/* Operators that are charged, and the outermost ones that contain none. */
static bool add_operators(maker *m)
{
    const kino__trace_costs *costs = &m->out->costs;
    bool *has_charged = calloc(costs->ops.count + 1, sizeof *has_charged);
    bool ok = has_charged != NULL;
    m->out->is_host = true;
    for (size_t i = ok ? costs->ops.count : 0; i-- > 0;) {
        const kino__costed_op *op = &costs->ops.items[i];
        has_charged[i] |= op->charged != KINO_NO_ROW;
        if (op->parent != KINO_NO_ROW)
            has_charged[op->parent] |= has_charged[i];
    }
    for (uint32_t i = 0; ok && i < costs->ops.count; i++) {
        const kino__costed_op *op = &costs->ops.items[i];
        kino__interval span = kino__interval_of(m->trace->ts[op->row], m->trace->dur[op->row]);
        bool is_outermost = op->parent == KINO_NO_ROW;
        if (is_outermost)
            m->out->host_time = kino__sum(m->out->host_time, span.end - span.start);
        if (op->charged == i || (is_outermost && !has_charged[i]))
            ok = add_operator(m, i, op->charged == i);
    }
    free(has_charged);
    return ok;
}

/* -- all -- */

static bool has_device(const kino__trace *trace)
{
    for (size_t t = 0; t < trace->tracks.count; t++)
        if (trace->tracks.items[t].kinds & KINO__KINDS_DEVICE)
            return true;
    return false;
}

/* Ids have led from launches to work; they are still needed where they lead to operators, and
 * where flows lead to forward operators. */
static void drop_ids(maker *m)
{
    bool needs_ids = m->out->costs.has_ids;
    for (size_t t = 0; t < m->trace->tracks.count; t++)
        needs_ids |=
            (m->trace->tracks.items[t].kinds & KINO__KIND_BIT(KINO__KIND_AUTOGRAD_FLOW)) != 0;
    if (!needs_ids)
        kino__trace_drop_columns(m->last, KINO__COLUMNS_OF_IDS);
}

static bool make_items(maker *m)
{
    size_t ops = m->out->costs.ops.count;
    m->out->has_ops = ops > 0;
    if (!has_device(m->trace))
        return add_operators(m);
    if (m->last)
        kino__trace_forget_links(m->last);
    m->launch = kino__link_launch(m->trace);
    if (m->last)
        drop_ids(m);
    m->names = calloc(kino__string_pool_count(&m->trace->strings) + 1, 1);
    m->total = calloc(ops + 1, sizeof *m->total);
    m->done = malloc((ops + 1) * sizeof *m->done);
    for (size_t i = 0; m->done && i <= ops; i++)
        m->done[i] = NOTHING;
    bool ok = m->launch && m->names && m->total && m->done && add_device_rows(m);
    if (!ok)
        return false;
    divide(m);
    return find_gaps(m);
}

static kino_status make(const kino__trace *trace, kino__trace *last, kino_str file,
                        kino__cost_work *out, kino_error *err)
{
    char path[4096];
    const char *files[2] = {path, NULL};
    if (file.size >= sizeof path)
        return kino__fail(err, KINO_ARGUMENT, "the path of --costs is too long");
    memcpy(path, file.data, file.size);
    path[file.size] = '\0';
    out->trace = trace;
    KINO_TRY(kino__cost_model_new(KINO__COST_DEFAULT, file.size ? files : NULL, &out->model, err));
    KINO_TRY(kino__trace_costs_init(&out->costs, trace, out->model, err));
    maker m = {.out = out, .trace = trace, .last = last};
    kino__map_init(&m.replays, NULL);
    kino__text_cursor_init(&m.cursor, trace->text);
    bool ok = make_items(&m);
    kino__trace_costs_forget_rows(&out->costs);
    if (last)
        kino__trace_forget_links(last);
    kino__text_cursor_deinit(&m.cursor);
    kino__op_call_deinit(&m.call);
    kino__map_deinit(&m.replays);
    kino__vec_deinit(&m.replay_total);
    kino__vec_deinit(&m.replay_done);
    kino__vec_deinit(&m.replay_of);
    free(m.names);
    free(m.total);
    free(m.done);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

void kino__cost_work_free(kino__cost_work *work)
{
    if (!work)
        return;
    kino__trace_costs_deinit(&work->costs);
    kino__cost_model_free(work->model);
    kino__vec_deinit(&work->items);
    free(work);
}

static kino_status make_new(const kino__trace *trace, kino__trace *last, kino_str file,
                            kino__cost_work **out, kino_error *err)
{
    *out = calloc(1, sizeof **out);
    kino_status st = *out ? make(trace, last, file, *out, err) : kino__fail_nomem(err);
    if (st == KINO_OK && !last) /* who is last does the same with less memory */
        st = kino__cost_classes_apply(*out, err);
    if (st != KINO_OK) {
        kino__cost_work_free(*out);
        *out = NULL;
    }
    return st;
}

static void *make_kept(const kino__trace *trace, void *context)
{
    kino__cost_work *work;
    return make_new(trace, NULL, (kino_str){"", 0}, &work, context) == KINO_OK ? work : NULL;
}

static void free_kept(void *value)
{
    kino__cost_work_free(value);
}

kino_status kino__cost_work_of(const kino__trace *trace, kino_str file, const kino__cost_work **out,
                               kino__cost_work **own, kino_error *err)
{
    static const char key;
    kino_error why;
    kino__error_clear(&why);
    *own = NULL;
    if (file.size) {
        kino_status st = make_new(trace, NULL, file, own, err);
        *out = *own;
        return st;
    }
    kino__mutex *lock = &((kino__trace *)(uintptr_t)trace)->work_lock; /* no part of its value */
    kino__mutex_lock(lock);
    *out = kino__trace_attachment(trace, &key, make_kept, &why, free_kept);
    kino__mutex_unlock(lock);
    if (*out)
        return KINO_OK;
    if (err && why.code != KINO_OK)
        *err = why;
    return why.code != KINO_OK ? why.code : kino__fail_nomem(err);
}

kino_status kino__cost_work_last(kino__trace *trace, kino_str file, kino__cost_work **own,
                                 kino_error *err)
{
    return make_new(trace, trace, file, own, err);
}

const char *kino__work_reason(const kino__cost_work *work, const kino__work_item *item)
{
    if (kino__work_is_known(item))
        return NULL;
    if (item->kind == KINO__WORK_COPY || item->kind == KINO__WORK_SET)
        return "no bytes recorded";
    if (item->around == KINO_NO_ROW)
        return work->has_ops ? "no operator launched it" : "no operators recorded";
    const kino__cost *cost = kino__trace_cost(&work->costs, item->around);
    return cost->reason ? cost->reason : "no family knows the operator";
}
