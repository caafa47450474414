/* kernel_costs.c - for each kernel: which layer and line launched it, for which operator, with
 * which inputs, forward or backward, and what it computes and moves.
 *
 * Method: kernel_walk.c; rows are kept in little memory (kernel_rows.h) and made when they are
 * read. PyProf's own outputs are lines of text (pyprof_lines.c).
 * Cost: one pass over the kernels in order of their launches. */
#include <stdlib.h>

#include "analysis/costs/kernel_rows.h"
#include "base/error.h"

enum { P_PYPROF, P_COLUMNS, P_WIDTH, P_COSTS };
enum { T_KERNELS, T_LINES };

static void deinit(void *value)
{
    kino__kernel_rows_deinit(value);
}

static bool is_compat(const kino__analysis *a)
{
    return kino__analysis_is_compat(a, "pyprof");
}

/* Coverage is that of the rows: classes of PyProf know more than the model, or less. */
static void take_facts(const kino__kernel_walk *walk)
{
    kino__cost_facts *facts = &walk->out->facts;
    facts->traces = 1;
    facts->without_ops = !walk->work->has_ops && walk->out->rows.count == 0;
    facts->without_device = walk->work->is_host;
    facts->time = walk->work->is_host ? walk->work->host_time : 0;
    for (size_t i = 0; i < walk->out->rows.count; i++) {
        const kino__kernel_row row = kino__kernel_rows_at(walk->out, i);
        if (!walk->work->is_host)
            facts->time = kino__sum(facts->time, row.sil);
        if (row.flops != KINO_NO_INT)
            facts->known_time = kino__sum(facts->known_time, row.sil);
    }
}

/* Rows are made in place of the work they come from where nobody else needs the trace. */
static kino_status make_work(const kino__analysis *a, const kino__trace *trace,
                             kino__kernel_walk *walk, kino__cost_work **own, kino_error *err)
{
    kino_str file = kino__param_text(a, P_COSTS);
    if (!a->is_last)
        return kino__cost_work_of(trace, file, &walk->work, own, err);
    /* whoever says so has the trace for itself, hence the cast */
    kino_status st = kino__cost_work_last((kino__trace *)(uintptr_t)trace, file, own, err);
    walk->work = walk->own = *own;
    return st;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    kino__cost_work *own;
    kino__kernel_walk walk = {.progress = a->progress,
                              .out = value,
                              .is_compat = is_compat(a),
                              .wants_dictionaries =
                                  kino__str_is(kino__param_text(a, P_PYPROF), "dict")};
    KINO_TRY(make_work(a, trace, &walk, &own, err));
    kino_status st = kino__kernel_walk_run(&walk, err);
    if (st == KINO_OK)
        take_facts(&walk);
    kino__cost_work_free(own);
    return st;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    return kino__kernel_rows_merge(into, from) ? KINO_OK : kino__fail_nomem(err);
}

static void pack(kino__pack *pack, void *value)
{
    kino__kernel_rows_pack(pack, value);
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_PYPROF] = {"pyprof", KINO_TYPE_STRING, "none",
                  "fill the table lines as PyProf prints it: dictionaries of its parse, CSV, table",
                  "none|dict|csv|table"},
    [P_COLUMNS] = {"columns", KINO_TYPE_STRING, "idx,dir,sub,mod,op,kernel,params,sil",
                   "columns of these lines, by PyProf's names", NULL},
    [P_WIDTH] = {"width", KINO_TYPE_INT, "0",
                 "width of the table in characters; 0: separated by blanks", NULL},
    [P_COSTS] = KINO__COSTS_PARAM,
    {0},
};

enum {
    C_RANK,
    C_IDX,
    C_SEQ,
    C_ALT_SEQ,
    C_TID,
    C_LAYER,
    C_TRACE,
    C_DIRECTION,
    C_SUB_SEQ,
    C_MODULE,
    C_OP,
    C_KERNEL,
    C_PARAMS,
    C_SIL,
    C_TC,
    C_GAP,
    C_DEVICE,
    C_STREAM,
    C_GRID,
    C_BLOCK,
    C_FLOPS,
    C_BYTES,
    C_EVENT
};

static const kino_column kernel_columns[] = {
    [C_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    [C_IDX] = {"idx", KINO_TYPE_INT, NULL, "number of the row, from 1"},
    [C_SEQ] = {"seq", KINO_TYPE_ANY, NULL,
               "sequence number of autograd; a list where several remain"},
    [C_ALT_SEQ] = {"alt_seq", KINO_TYPE_STRING, NULL, "other numbers around it"},
    [C_TID] = {"tid", KINO_TYPE_INT, NULL, "thread that launched it"},
    [C_LAYER] = {"layer", KINO_TYPE_STRING, NULL, "modules or layers around it, outermost first"},
    [C_TRACE] = {"trace", KINO_TYPE_STRING, NULL, "line of the program; PyProf: its call stack"},
    [C_DIRECTION] = {"direction", KINO_TYPE_STRING, NULL,
                     "forward or backward; PyProf: fprop or bprop"},
    [C_SUB_SEQ] = {"sub_seq", KINO_TYPE_INT, NULL, "number of the kernel within the operator"},
    [C_MODULE] = {"module", KINO_TYPE_STRING, NULL, "innermost module; PyProf: of the function"},
    [C_OP] = {"op", KINO_TYPE_STRING, NULL, "operator"},
    [C_KERNEL] = {"kernel", KINO_TYPE_STRING, NULL, "kernel, copy or memset"},
    [C_PARAMS] = {"params", KINO_TYPE_STRING, NULL, "inputs of the operator"},
    [C_SIL] = {"sil", KINO_TYPE_DURATION, NULL, "time on the device"},
    [C_TC] = {"tc", KINO_TYPE_STRING, NULL, "matrix units: 1 used, 0 not used, - not applicable"},
    [C_GAP] = {"tensor_gap", KINO_TYPE_STRING, NULL, KINO__TENSOR_GAP_HELP},
    [C_DEVICE] = {"device", KINO_TYPE_INT, NULL, "id"},
    [C_STREAM] = {"stream", KINO_TYPE_INT, NULL, "id"},
    [C_GRID] = {"grid", KINO_TYPE_STRING, NULL, "blocks: x,y,z"},
    [C_BLOCK] = {"block", KINO_TYPE_STRING, NULL, "threads of a block: x,y,z"},
    [C_FLOPS] = {"flops", KINO_TYPE_INT, "count", "its share of the operator's; null: unknown"},
    [C_BYTES] = {"bytes", KINO_TYPE_BYTES, NULL, "its share of the operator's; null: unknown"},
    [C_EVENT] = {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the event"},
    {0},
};

static const kino_column line_columns[] = {
    {"line", KINO_TYPE_STRING, NULL, "a line of PyProf's output"},
    {0},
};

static const kino_table_info tables[] = {
    [T_KERNELS] = {"kernel_costs", "one row per kernel, copy and memset, in order of time",
                   kernel_columns, NULL, "not available: the trace has no kernels"},
    [T_LINES] = {"lines", "the output of PyProf", line_columns, NULL, NULL},
    {0},
};

/* What the table is made from when it is read. */
typedef struct shown {
    kino__kernel_rows rows;
    bool is_compat;
} shown;

static void free_shown(void *context)
{
    shown *s = context;
    kino__kernel_rows_deinit(&s->rows);
    free(s);
}

/* The rows; and copies of the texts, which may be views of what the partial was loaded from. */
static bool take_rows(shown *s, kino__kernel_rows *rows)
{
    for (size_t i = 0; i < kino__string_pool_count(&rows->texts); i++)
        if (kino__string_pool_add(&s->rows.texts,
                                  kino__string_pool_text(&rows->texts, (kino_strid)i)) != i)
            return false;
    memcpy(&s->rows.kinds, &rows->kinds, sizeof s->rows.kinds);
    memcpy(&s->rows.rows, &rows->rows, sizeof s->rows.rows);
    memcpy(&s->rows.mores, &rows->mores, sizeof s->rows.mores);
    memset(&rows->kinds, 0, sizeof rows->kinds);
    memset(&rows->rows, 0, sizeof rows->rows);
    memset(&rows->mores, 0, sizeof rows->mores);
    return true;
}

static kino_cell text_cell(const shown *s, kino_strid id)
{
    return id == KINO_NO_STRING ? kino__cell_null()
                                : kino__cell_text(kino__string_pool_text(&s->rows.texts, id));
}

static kino_cell int_cell(int64_t value)
{
    return value == KINO_NO_INT ? kino__cell_null() : kino__cell_int(value);
}

static kino_cell direction_cell(const shown *s, bool is_backward)
{
    static const char *const words[2][2] = {{"forward", "backward"}, {"fprop", "bprop"}};
    return kino__cell_text(kino__str_from(words[s->is_compat][is_backward]));
}

static kino_cell tc_cell(uint32_t letter)
{
    return kino__cell_text(letter == '1'   ? KINO__STR("1")
                           : letter == '0' ? KINO__STR("0")
                           : letter == '-' ? KINO__STR("-")
                                           : KINO__STR("na"));
}

static kino_cell gap_cell(uint16_t gap)
{
    const char *name = kino__tensor_gap_name((kino__tensor_gap)gap);
    return name ? kino__cell_text(kino__str_from(name)) : kino__cell_null();
}

static kino_cell make_cell(const void *context, size_t row, size_t column)
{
    const shown *s = context;
    const kino__kernel_row r = kino__kernel_rows_at(&s->rows, row);
    const kino__kernel_group *k = &s->rows.kinds.items[r.kind];
    switch (column) {
    case C_RANK:
        return int_cell(k->rank);
    case C_IDX:
        return kino__cell_int((int64_t)row + 1);
    case C_SEQ:
        return r.seq != KINO_NO_INT ? kino__cell_int(r.seq) : text_cell(s, r.seq_list);
    case C_ALT_SEQ:
        return text_cell(s, r.alt_seq);
    case C_TID:
        return int_cell(k->tid);
    case C_LAYER:
        return text_cell(s, k->layer);
    case C_TRACE:
        return text_cell(s, k->trace);
    case C_DIRECTION:
        return direction_cell(s, k->is_backward != 0);
    case C_SUB_SEQ:
        return kino__cell_int(r.sub);
    case C_MODULE:
        return text_cell(s, k->module);
    case C_OP:
        return text_cell(s, k->op);
    case C_KERNEL:
        return text_cell(s, k->kernel);
    case C_PARAMS:
        return text_cell(s, k->params);
    case C_SIL:
        return int_cell(r.sil);
    case C_TC:
        return tc_cell(k->tc);
    case C_GAP:
        return gap_cell(k->tensor_gap);
    case C_DEVICE:
        return int_cell(k->device);
    case C_STREAM:
        return int_cell(k->stream);
    case C_GRID:
        return text_cell(s, k->grid);
    case C_BLOCK:
        return text_cell(s, k->block);
    case C_FLOPS:
        return int_cell(r.flops);
    case C_BYTES:
        return int_cell(r.bytes);
    default:
        return kino__cell_int(k->run_index << 32 | r.number);
    }
}

static kino_status parse_form(const kino__analysis *a, kino__pyprof_form *form, kino_error *err)
{
    return kino__pyprof_form_parse(kino__param_text(a, P_COLUMNS), kino__param_int(a, P_WIDTH),
                                   kino__str_is(kino__param_text(a, P_PYPROF), "csv"), form, err);
}

static kino_status fill_lines(const kino__analysis *a, const kino__kernel_rows *rows,
                              kino__table *table, kino_error *err)
{
    kino_str what = kino__param_text(a, P_PYPROF);
    kino__buffer line = {0};
    kino__pyprof_form form;
    if (kino__str_is(what, "none"))
        return KINO_OK;
    bool is_dictionary = kino__str_is(what, "dict");
    KINO_TRY(parse_form(a, &form, err));
    if (!is_dictionary) {
        kino__pyprof_header(&form, &line);
        kino__table_add_text(table, kino__buffer_str(&line));
    }
    for (size_t i = 0; i < rows->rows.count; i++) {
        line.size = 0;
        if (!is_dictionary)
            kino__pyprof_line(&form, rows, i, &line);
        else if (kino__kernel_rows_at(rows, i).line != KINO_NO_STRING)
            kino__buffer_add(
                &line, kino__string_pool_text(&rows->texts, kino__kernel_rows_at(rows, i).line));
        else
            continue;
        kino__table_add_text(table, kino__buffer_str(&line));
    }
    bool has_failed = line.failed;
    kino__buffer_deinit(&line);
    return has_failed ? kino__fail_nomem(err) : KINO_OK;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    kino__kernel_rows *rows = value;
    kino__table *table = kino__analysis_table(result, T_KERNELS),
                *lines = kino__analysis_table(result, T_LINES);
    KINO_TRY(fill_lines(a, rows, lines, err));
    kino__cost_facts_note(&rows->facts, result);
    shown *s = calloc(1, sizeof *s);
    if (!s)
        return kino__fail_nomem(err);
    s->is_compat = is_compat(a);
    if (!take_rows(s, rows)) {
        free_shown(s);
        return kino__fail_nomem(err);
    }
    kino__table_set_maker(table, (kino__row_maker){.cell = make_cell,
                                                   .free = free_shown,
                                                   .context = s,
                                                   .row_count = s->rows.rows.count});
    if (table)
        table->hidden |= UINT64_C(1) << C_ALT_SEQ | UINT64_C(1) << C_EVENT | UINT64_C(1) << C_GRID |
                         UINT64_C(1) << C_BLOCK;
    if (lines)
        lines->empty_text = NULL;
    return KINO_OK;
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    kino__pyprof_form form;
    return parse_form(a, &form, err);
}

static const char *const compat[] = {"pyprof", NULL};

const kino__analysis_def kino__analysis_kernel_costs = {
    .name = "kernel-costs",
    .help = "for each kernel its layer, line, operator, inputs, direction and cost",
    .description =
        "One row per kernel, copy and memset: who launched it and for what, and its share\n"
        "of the operations and bytes of its operator. An operator is charged once; its\n"
        "kernels share the cost by their time. If the trace has PyProf's markers, layers,\n"
        "lines and inputs come from them. --compat pyprof gives PyProf's table, with its\n"
        "order, numbering and costs; --pyprof gives its outputs as text.\n",
    .params = params,
    .tables = tables,
    .compat = compat,
    .grows = true,
    .partial_size = sizeof(kino__kernel_rows),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
