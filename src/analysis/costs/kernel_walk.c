/* kernel_walk.c - the rows of kernel-costs, kernel by kernel.
 *
 * Where a trace has PyProf's markers, a kernel is what the ranges around its launch say, and its
 * cost is that of PyProf's operator classes, put right; elsewhere it has its part of the operator
 * that launched it (cost_work.h). As PyProf does it (is_compat), kernels come in the order of the
 * file, the numbering of an operator's kernels has one state for all threads and processes, ranges
 * that ended before a launch seen earlier are forgotten, and sequence numbers alone link backward
 * kernels to forward ones. By default kernels are visited in order of their launches, and each
 * thread numbers, and each process links, its own. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/costs/cost_place.h"
#include "analysis/costs/kernel_marks.h"
#include "analysis/costs/kernel_order.h"
#include "analysis/costs/kernel_rows.h"
#include "base/error.h"
#include "cost/pyprof_cost.h"

/* How the kernels of one operator are numbered. */
typedef struct numbering {
    int64_t sequence, sub; /* of the kernel before; -1: none */
    kino_strid op;         /* its list of operators */
    int64_t forgotten;     /* ranges that end before this are not seen */
} numbering;

/* What backward kernels take over from a forward one. */
typedef struct forward_kernel {
    kino_str argument; /* empty: none */
    kino_strid layer, trace, module, op;
} forward_kernel;

/* Blocks and threads of a launch. */
typedef struct launch_shape {
    kino_strid grid, block;
    int64_t numbers[3]; /* of the grid */
} launch_shape;

enum { UNKNOWN_NAME = KINO_NO_STRING - 1 };

typedef struct walking {
    const kino__kernel_walk *walk;
    const kino__trace *trace;
    kino__kernel_rows *out;
    kino__cost_places places;
    kino__int_argument sequence;
    kino__marks_reader reader; /* where there are marks */
    kino__kernel_marks marks;
    kino__text_cursor cursor;
    kino__map states; /* track -> place in numberings */
    KINO__VEC(numbering) numberings;
    kino__map by_sequence, by_other; /* -> place in forwards */
    KINO__VEC(forward_kernel) forwards;
    kino__number_list others; /* altSeqId of the kernel at hand */
    kino__op_call call;
    kino__op_inputs inputs;
    kino__pyprof_cost cost;
    kino__buffer text, name;
    kino__str_list frames;
    kino__arena arena;
    kino__map shape_of_key; /* of shared arguments -> place in shapes */
    KINO__VEC(launch_shape) shapes;
    launch_shape own_shape;
    uint32_t *sub_of_op;      /* kernels seen of each op */
    kino__map params_of_call; /* of the inputs of an op -> text of its parameters */
    kino_strid *name_of_text; /* of each string of the trace: kernel_name; UNKNOWN_NAME */
    uint32_t known_layer;     /* whose texts these are */
    kino_strid known_path, known_innermost;
    bool has_marks, failed;
} walking;

/* -- texts of the answer -- */

static kino_strid keep(walking *w, kino_str text)
{
    if (text.size == 0)
        return KINO_NO_STRING;
    kino_strid id = kino__string_pool_add(&w->out->texts, text);
    w->failed |= id == KINO_NO_STRING;
    return id;
}

static kino_strid keep_buffer(walking *w)
{
    w->failed |= w->text.failed;
    return keep(w, kino__buffer_str(&w->text));
}

static void add_joined(walking *w, const kino__str_list *list, const char *separator)
{
    for (size_t i = 0; i < list->count; i++) {
        kino__buffer_add(&w->text, i ? kino__str_from(separator) : KINO__STR(""));
        kino__buffer_add(&w->text, list->items[i]);
    }
}

static kino_strid keep_numbers(walking *w, const kino__number_list *numbers)
{
    w->text.size = 0;
    for (size_t i = 0; i < numbers->count; i++)
        kino__buffer_printf(&w->text, "%s%lld", i ? "," : "", (long long)numbers->items[i]);
    return keep_buffer(w);
}

/* "[7, 1, 1]" is "7,1,1"; *numbers are them. */
static kino_strid keep_extent(walking *w, kino_str json, int64_t numbers[3])
{
    size_t count = 0;
    w->text.size = 0;
    numbers[0] = numbers[1] = numbers[2] = 0;
    for (size_t i = 0; i < json.size; i++) {
        char c = json.data[i];
        if (c >= '0' && c <= '9') {
            kino__buffer_add(&w->text, (kino_str){&json.data[i], 1});
            if (count < 3 && numbers[count] < INT64_MAX / 16)
                numbers[count] = numbers[count] * 10 + (c - '0');
        } else if (c == ',') {
            kino__buffer_add(&w->text, KINO__STR(","));
            count++;
        }
    }
    return keep_buffer(w);
}

/* -- what every kernel has -- */

static void read_shape(walking *w, uint32_t row, launch_shape *out)
{
    int64_t block[3];
    kino_str args = kino__args_text(w->trace, row, &w->cursor);
    kino_str grid_text = kino__args_find(args, KINO__STR("grid")),
             block_text = kino__args_find(args, KINO__STR("block"));
    out->grid = keep_extent(w, grid_text, out->numbers);
    out->block = keep_extent(w, block_text, block);
}

/* Kernels that share their arguments share their shape: it is read once. */
static const launch_shape *shape_of(walking *w, uint32_t row)
{
    uint64_t key = kino__args_shared_key(w->trace, row);
    uint32_t *place = key ? kino__map_put(&w->shape_of_key, key, (uint32_t)w->shapes.count) : NULL;
    if (!place) {
        read_shape(w, row, &w->own_shape);
        return &w->own_shape;
    }
    if (*place == w->shapes.count) {
        uint32_t at = *place;
        launch_shape *fresh = kino__vec_add(&w->shapes);
        w->failed |= !fresh;
        if (!fresh)
            return &w->own_shape;
        *fresh = (launch_shape){KINO_NO_STRING, KINO_NO_STRING, {0}};
        read_shape(w, row, fresh);
        return &w->shapes.items[at];
    }
    return &w->shapes.items[*place];
}

static void fill_place(walking *w, const kino__work_item *item, kino__kernel_group *kind,
                       int64_t grid[3])
{
    const kino__track *track = &w->trace->tracks.items[kino__trace_track_of(w->trace, item->row)];
    uint32_t from = item->launch != KINO_NO_ROW         ? item->launch
                    : item->kind == KINO__WORK_OPERATOR ? item->row
                                                        : KINO_NO_ROW;
    kind->rank = w->trace->rank;
    kind->run_index = w->trace->index;
    kind->tid = KINO_NO_INT;
    if (from != KINO_NO_ROW) {
        const kino__label *tid = &w->trace->tracks.items[kino__trace_track_of(w->trace, from)].tid;
        kind->tid = tid->kind == KINO__LABEL_INT ? tid->number : KINO_NO_INT;
    }
    kind->device = track->device;
    kind->stream = track->stream;
    const launch_shape *shape = shape_of(w, item->row);
    kind->grid = shape->grid;
    kind->block = shape->block;
    memcpy(grid, shape->numbers, sizeof shape->numbers);
}

static kino_strid make_name(walking *w, kino_str name)
{
    if (!w->walk->is_compat)
        return keep(w, name);
    kino_str brief = kino__pyprof_short_name(name, &w->name);
    w->text.size = 0;
    for (size_t i = 0; i < brief.size; i++)
        kino__buffer_add(&w->text,
                         brief.data[i] == ' ' ? KINO__STR("_") : (kino_str){&brief.data[i], 1});
    return keep_buffer(w);
}

/* Each name is made once. */
static kino_strid kernel_name(walking *w, uint32_t row)
{
    kino_strid id = w->trace->name[row];
    if (id == KINO_NO_STRING)
        return make_name(w, (kino_str){"", 0});
    if (w->name_of_text[id] == UNKNOWN_NAME)
        w->name_of_text[id] = make_name(w, kino__trace_string(w->trace, id));
    return w->name_of_text[id];
}

/* -- kernels of operators -- */

static void add_tensor(walking *w, const kino__op_input *input)
{
    const int64_t *sizes = kino__op_input_sizes(&w->inputs, input);
    kino__buffer_add(&w->text, w->text.size ? KINO__STR(";[") : KINO__STR("["));
    for (uint32_t k = 0; k < input->size_count; k++)
        kino__buffer_printf(&w->text, "%s%lld", k ? "," : "", (long long)sizes[k]);
    kino__buffer_printf(&w->text, "]%s", input->dtype ? kino__dtype_name(input->dtype) : "");
}

static kino_strid make_params(walking *w, kino_str args)
{
    w->text.size = 0;
    w->failed |= !kino__op_inputs_read(&w->inputs, args);
    for (size_t i = 0; i < w->inputs.items.count && !w->failed; i++)
        if (w->inputs.items.items[i].is_tensor)
            add_tensor(w, &w->inputs.items.items[i]);
    return keep_buffer(w);
}

/* "[64,32]fp32;[32,16]fp32" of an operator's tensors: made once for the same inputs. */
static kino_strid operator_params(walking *w, uint32_t op)
{
    uint32_t row = w->walk->work->costs.ops.items[op].row;
    kino_str args = kino__args_text(w->trace, row, &w->cursor);
    bool records_autograd;
    uint64_t key = kino__op_call_kineto_key(args, &records_autograd);
    uint32_t *known = kino__map_put(&w->params_of_call, key, UNKNOWN_NAME);
    w->failed |= !known;
    if (known && *known == UNKNOWN_NAME)
        *known = make_params(w, args);
    return known ? *known : KINO_NO_STRING;
}

/* The sequence numbers of the operators around it: the innermost one's, and the others. */
static void fill_sequences(walking *w, uint32_t op, kino__kernel_row *row)
{
    const kino__costed_op *ops = w->walk->work->costs.ops.items;
    int64_t own = -1;
    w->others.count = 0;
    for (; op != KINO_NO_ROW; op = ops[op].parent) {
        int64_t number = kino__int_argument_of(&w->sequence, ops[op].row);
        if (number < 0 || number == own)
            continue;
        if (own < 0) {
            own = number;
            continue;
        }
        bool is_known = false;
        for (size_t i = 0; i < w->others.count; i++)
            is_known |= w->others.items[i] == number;
        int64_t *slot = is_known ? NULL : kino__vec_add(&w->others);
        w->failed |= !is_known && !slot;
        if (slot)
            *slot = number;
    }
    row->alt_seq = keep_numbers(w, &w->others);
    row->seq = own >= 0 ? own : KINO_NO_INT;
}

static kino_strid make_path(walking *w, uint32_t layer)
{
    enum { MOST = 64 };
    uint32_t chain[MOST];
    size_t count = 0;
    for (; layer != KINO_NO_ROW && count < MOST; layer = w->places.layers.items[layer].parent)
        chain[count++] = layer;
    w->text.size = 0;
    while (count-- > 0) {
        kino__buffer_add(&w->text, w->places.layers.items[chain[count]].name);
        kino__buffer_add(&w->text, count ? KINO__STR(":") : KINO__STR(""));
    }
    return keep_buffer(w);
}

/* The path of a layer. Many kernels after each other have the same. */
static kino_strid layer_text(walking *w, uint32_t layer, kino_strid *innermost)
{
    *innermost = KINO_NO_STRING;
    if (layer == KINO_NO_ROW)
        return KINO_NO_STRING;
    if (layer != w->known_layer) {
        w->known_layer = layer;
        w->known_innermost = keep(w, w->places.layers.items[layer].name);
        w->known_path = make_path(w, layer);
    }
    *innermost = w->known_innermost;
    return w->known_path;
}

static uint16_t tensor_letter(const walking *w, const kino__work_item *item)
{
    const kino__cost *cost = kino__work_cost(w->walk->work, item);
    if (item->uses_tensor_cores)
        return '1';
    return cost && cost->is_matrix && item->kind == KINO__WORK_KERNEL ? '0' : '-';
}

static void fill_by_operator(walking *w, const kino__work_item *item, kino__kernel_group *kind,
                             kino__kernel_row *row)
{
    bool is_kernel = item->kind == KINO__WORK_KERNEL || item->kind == KINO__WORK_COLLECTIVE ||
                     item->kind == KINO__WORK_OPERATOR;
    kind->tc = tensor_letter(w, item);
    kind->tensor_gap = item->tensor_gap;
    row->flops = item->flops;
    row->bytes = item->bytes;
    if (item->around == KINO_NO_ROW)
        return;
    kind->is_backward = w->walk->work->costs.ops.items[item->around].direction == KINO__OP_BACKWARD;
    kind->layer = layer_text(w, kino__cost_place_layer(&w->places, item->around), &kind->module);
    kind->trace = keep(w, kino__cost_place_line(&w->places, item->around));
    kind->op = keep(w, kino__cost_place_name(&w->places, item->around));
    kind->params = is_kernel ? operator_params(w, item->around) : KINO_NO_STRING;
    fill_sequences(w, item->around, row);
    row->sub = is_kernel ? w->sub_of_op[item->around]++ : 0;
}

/* -- kernels within markers -- */

static numbering *state_of(walking *w, uint32_t launch)
{
    uint32_t track = w->walk->is_compat ? 0 : kino__trace_track_of(w->trace, launch);
    uint32_t *place = kino__map_put(&w->states, track, (uint32_t)w->numberings.count);
    numbering *fresh = NULL;
    if (place && *place == w->numberings.count && (fresh = kino__vec_add(&w->numberings)))
        *fresh = (numbering){-1, -1, KINO_NO_STRING, KINO_NO_TIME};
    w->failed |= !place || *place >= w->numberings.count;
    return w->failed ? NULL : &w->numberings.items[*place];
}

/* PyProf's table of ranges forgets by thread, whatever else is shared. */
static int64_t *forgotten_of(walking *w, uint32_t launch)
{
    uint64_t key = UINT64_C(1) << 40 | kino__trace_track_of(w->trace, launch);
    uint32_t *place = kino__map_put(&w->states, key, (uint32_t)w->numberings.count);
    numbering *fresh = NULL;
    if (place && *place == w->numberings.count && (fresh = kino__vec_add(&w->numberings)))
        *fresh = (numbering){-1, -1, KINO_NO_STRING, KINO_NO_TIME};
    w->failed |= !place || *place >= w->numberings.count;
    return w->failed ? NULL : &w->numberings.items[*place].forgotten;
}

/* Which of its sequence numbers a kernel has now. */
static int64_t current_number(const walking *w, const numbering *state)
{
    const kino__number_list *numbers = &w->marks.numbers;
    if (w->marks.is_backward)
        return numbers->items[0];
    for (size_t i = 0; i < numbers->count; i++)
        if (numbers->items[i] > state->sequence)
            return numbers->items[i];
    return state->sequence;
}

static bool is_cell(const kino__kernel_marks *m)
{
    return m->op.count && m->mod.count && kino__str_is(m->op.items[0], "forward") &&
           (kino__str_is(m->mod.items[0], "LSTMCell") || kino__str_is(m->mod.items[0], "GRUCell") ||
            kino__str_is(m->mod.items[0], "RNNCell"));
}

/* Moves the numbers that are not the current one to the others. PyProf changes the list while it
 * walks it, so that of neighbours one stays. */
static bool move_others(walking *w, int64_t current)
{
    kino__number_list *numbers = &w->marks.numbers;
    w->others.count = 0;
    for (size_t i = 0; i < numbers->count;) {
        int64_t number = numbers->items[i];
        if (number == current) {
            i++;
            continue;
        }
        int64_t *slot = kino__vec_add(&w->others);
        if (!slot)
            return false;
        *slot = number;
        for (size_t k = i + 1; k < numbers->count; k++)
            numbers->items[k - 1] = numbers->items[k];
        numbers->count--;
        i += w->walk->is_compat;
    }
    return true;
}

/* PyProf 3.5: sub index and current number. */
static uint32_t number_kernel(walking *w, uint32_t launch)
{
    w->others.count = 0;
    if (w->marks.numbers.count == 0)
        return 0;
    numbering *state = state_of(w, launch);
    w->text.size = 0;
    add_joined(w, &w->marks.op, "\x1f");
    kino_strid op = keep_buffer(w);
    if (!state || w->failed)
        return 0;
    int64_t current = current_number(w, state);
    bool is_same = op == state->op && (current == state->sequence || is_cell(&w->marks));
    int64_t sub = is_same ? state->sub + 1 : 0;
    state->sequence = current;
    state->sub = sub;
    state->op = op;
    w->failed |= !move_others(w, current);
    return (uint32_t)sub;
}

static uint64_t link_key(const walking *w, uint32_t launch, int64_t number)
{
    const kino__label *pid = &w->trace->tracks.items[kino__trace_track_of(w->trace, launch)].pid;
    uint64_t process = w->walk->is_compat ? 0 : kino__label_hash(pid) << 40;
    return process ^ (uint64_t)number;
}

static void remember_forward(walking *w, uint32_t launch, const kino__kernel_group *kind)
{
    uint32_t place = (uint32_t)w->forwards.count;
    forward_kernel *f = kino__vec_add(&w->forwards);
    w->failed |= !f;
    if (w->failed)
        return;
    *f = (forward_kernel){
        .layer = kind->layer, .trace = kind->trace, .module = kind->module, .op = kind->op};
    if (w->marks.arguments.count)
        f->argument = w->marks.arguments.items[0];
    for (size_t i = 0; i < w->marks.numbers.count + w->others.count; i++) {
        bool is_own = i < w->marks.numbers.count;
        int64_t number =
            is_own ? w->marks.numbers.items[i] : w->others.items[i - w->marks.numbers.count];
        uint32_t *slot = kino__map_put(is_own ? &w->by_sequence : &w->by_other,
                                       link_key(w, launch, number), place);
        w->failed |= !slot;
        if (slot)
            *slot = place; /* the last one counts */
    }
}

/* The forward kernel of a backward one; NULL: there is none. */
static const forward_kernel *find_forward(const walking *w, uint32_t launch)
{
    if (w->marks.numbers.count == 0)
        return NULL;
    uint64_t key = link_key(w, launch, w->marks.numbers.items[0]);
    const uint32_t *place = kino__map_get(&w->by_sequence, key);
    if (!place)
        place = kino__map_get(&w->by_other, key);
    return place ? &w->forwards.items[*place] : NULL;
}

static void fill_marks(walking *w, kino__kernel_group *kind)
{
    const kino__kernel_marks *m = &w->marks;
    kind->is_backward = m->is_backward;
    w->text.size = 0;
    for (size_t i = 0; i < m->layers.count; i++) {
        kino__buffer_add(&w->text, i ? KINO__STR(":") : KINO__STR(""));
        kino__buffer_add(&w->text, kino__marker_layer(m->layers.items[i]));
    }
    kind->layer = keep_buffer(w);
    w->frames.count = 0;
    if (m->traces.count)
        w->failed |=
            !kino__marker_frames(m->traces.items[m->traces.count - 1], &w->arena, &w->frames);
    w->text.size = 0;
    add_joined(w, &w->frames, ",");
    kind->trace = keep_buffer(w);
    kind->op = m->op.count ? keep(w, m->op.items[0]) : KINO_NO_STRING;
    kind->module = m->mod.count ? keep(w, m->mod.items[0]) : KINO_NO_STRING;
}

/* The cost of PyProf's class of operators; false: it has none. */
static bool fill_class(walking *w, kino_str argument, const kino__work_item *item,
                       const int64_t grid[3], kino__kernel_group *kind, kino__kernel_row *row)
{
    bool is_one = false;
    kino__pyprof_kernel kernel = {.direction =
                                      kind->is_backward ? KINO__OP_BACKWARD : KINO__OP_FORWARD,
                                  .sub = row->sub,
                                  .grid = {grid[0], grid[1], grid[2]}};
    kernel.name =
        kino__pyprof_short_name(kino__trace_string(w->trace, w->trace->name[item->row]), &w->name);
    w->failed |= !kino__op_call_read_pyprof(&w->call, argument, &is_one);
    if (w->failed || !is_one)
        return false;
    w->failed |= !kino__pyprof_cost_of(&w->call, &kernel, w->walk->work->model, w->walk->is_compat,
                                       &w->cost);
    if (w->failed || (!w->walk->is_compat && strcmp(w->cost.op_class, "Foo") == 0))
        return false;
    kind->op = keep(w, w->cost.op);
    kind->params = keep(w, kino__buffer_str(&w->cost.params));
    kind->tc = (unsigned char)w->cost.tc[0];
    if (!w->walk->is_compat && item->uses_tensor_cores)
        kind->tc = '1';
    row->flops = w->cost.flops;
    row->bytes = w->cost.bytes;
    row->is_real = w->cost.is_real;
    return true;
}

/* -- PyProf's dictionaries -- */

static void add_list(walking *w, const char *key, const kino__str_list *list)
{
    kino__buffer_printf(&w->text, ", '%s': [", key);
    for (size_t i = 0; i < list->count; i++) {
        kino__buffer_add(&w->text, i ? KINO__STR(", ") : KINO__STR(""));
        kino__pyprof_repr(list->items[i], &w->text);
    }
    kino__buffer_add(&w->text, KINO__STR("]"));
}

static void add_number_list(walking *w, const char *key, const kino__number_list *list)
{
    kino__buffer_printf(&w->text, ", '%s': [", key);
    for (size_t i = 0; i < list->count; i++)
        kino__buffer_printf(&w->text, "%s%lld", i ? ", " : "", (long long)list->items[i]);
    kino__buffer_add(&w->text, KINO__STR("]"));
}

static void add_extent(walking *w, const char *key, kino_strid extent)
{
    kino_str text = extent == KINO_NO_STRING ? (kino_str){"", 0}
                                             : kino__string_pool_text(&w->out->texts, extent);
    kino__buffer_printf(&w->text, ", '%s': (", key);
    for (size_t i = 0; i < text.size; i++)
        kino__buffer_add(&w->text,
                         text.data[i] == ',' ? KINO__STR(", ") : (kino_str){&text.data[i], 1});
    kino__buffer_add(&w->text, KINO__STR(")"));
}

static kino_strid dictionary(walking *w, const kino__work_item *item,
                             const kino__kernel_group *kind, uint32_t sub)
{
    const kino__kernel_marks *m = &w->marks;
    kino_str name = kino__trace_string(w->trace, w->trace->name[item->row]);
    kino__str_list layers = {0};
    for (size_t i = 0; i < m->layers.count; i++) {
        kino_str *slot = kino__vec_add(&layers);
        w->failed |= !slot;
        if (slot)
            *slot = kino__marker_layer(m->layers.items[i]);
    }
    w->text.size = 0;
    kino__buffer_add(&w->text, KINO__STR("{'kShortName': "));
    kino__pyprof_repr(kino__pyprof_short_name(name, &w->name), &w->text);
    kino__buffer_printf(&w->text, ", 'kDuration': %lld",
                        (long long)kino__work_time(w->walk->work, item));
    add_list(w, "layer", &layers);
    add_list(w, "trace", &w->frames);
    add_list(w, "reprMarkers", &m->modules);
    add_list(w, "marker", &m->arguments);
    add_list(w, "seqMarker", &m->sequences);
    add_number_list(w, "seqId", &m->numbers);
    kino__buffer_printf(&w->text, ", 'subSeqId': %u", sub);
    add_number_list(w, "altSeqId", &w->others);
    kino__buffer_printf(&w->text, ", 'dir': '%s'", m->is_backward ? "bprop" : "fprop");
    add_list(w, "mod", &m->mod);
    add_list(w, "op", &m->op);
    kino__buffer_printf(&w->text, ", 'tid': %lld, 'device': %lld, 'stream': %lld",
                        (long long)kind->tid, (long long)kind->device, (long long)kind->stream);
    add_extent(w, "grid", kind->grid);
    add_extent(w, "block", kind->block);
    kino__buffer_add(&w->text, KINO__STR(", 'kLongName': "));
    kino__pyprof_repr(name, &w->text);
    kino__buffer_add(&w->text, KINO__STR("}"));
    kino__vec_deinit(&layers);
    return keep_buffer(w);
}

static int compare_numbers(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static void fill_by_marks(walking *w, const kino__work_item *item, const int64_t grid[3],
                          kino__kernel_group *kind, kino__kernel_row *row)
{
    uint32_t launch = item->launch;
    int64_t *forgotten = w->walk->is_compat ? forgotten_of(w, launch) : NULL;
    w->failed |=
        w->failed || !kino__kernel_marks_read(&w->reader, launch,
                                              forgotten ? *forgotten : KINO_NO_TIME, &w->marks);
    if (w->failed)
        return;
    if (forgotten && w->trace->ts[launch] > *forgotten)
        *forgotten = w->trace->ts[launch];
    fill_marks(w, kind);
    kind->tensor_gap = w->walk->is_compat ? KINO__TENSOR_GAP_NONE : item->tensor_gap;
    row->sub = number_kernel(w, launch);
    if (w->others.count)
        qsort(w->others.items, w->others.count, sizeof *w->others.items, compare_numbers);
    if (w->marks.numbers.count == 1)
        row->seq = w->marks.numbers.items[0];
    else
        row->seq_list = keep_numbers(w, &w->marks.numbers);
    row->alt_seq = keep_numbers(w, &w->others);
    if (w->walk->wants_dictionaries)
        row->line = dictionary(w, item, kind, row->sub);
    kino_str argument = w->marks.arguments.count ? w->marks.arguments.items[0] : (kino_str){0};
    if (!kind->is_backward) {
        remember_forward(w, launch, kind);
    } else if (argument.size == 0) {
        const forward_kernel *f = find_forward(w, launch);
        if (f) {
            argument = f->argument;
            kind->layer = f->layer;
            kind->trace = f->trace;
            kind->module = f->module;
            kind->op = f->op;
        }
    }
    if (argument.size && fill_class(w, argument, item, grid, kind, row))
        return;
    if (w->walk->is_compat) {
        kind->params = keep(w, KINO__STR("na=na,"));
        kind->tc = 'n';
        row->flops = row->bytes = 0;
        return;
    }
    kind->tc = tensor_letter(w, item);
    row->flops = item->flops;
    row->bytes = item->bytes;
    kind->params = item->around == KINO_NO_ROW ? KINO_NO_STRING : operator_params(w, item->around);
}

/* -- all -- */

static bool visit(walking *w, const kino__work_item *item, kino__kernel_row *row)
{
    kino__kernel_group kind = {.layer = KINO_NO_STRING,
                               .trace = KINO_NO_STRING,
                               .module = KINO_NO_STRING,
                               .op = KINO_NO_STRING,
                               .kernel = KINO_NO_STRING,
                               .params = KINO_NO_STRING,
                               .tc = '-'};
    int64_t grid[3];
    bool is_kernel = item->kind == KINO__WORK_KERNEL || item->kind == KINO__WORK_COLLECTIVE;
    *row = (kino__kernel_row){.seq = KINO_NO_INT,
                              .seq_list = KINO_NO_STRING,
                              .alt_seq = KINO_NO_STRING,
                              .line = KINO_NO_STRING,
                              .sil = kino__work_time(w->walk->work, item),
                              .flops = KINO_NO_INT,
                              .bytes = KINO_NO_INT,
                              .number = w->trace->number[item->row]};
    fill_place(w, item, &kind, grid);
    kind.kernel = kernel_name(w, item->row);
    if (w->has_marks && is_kernel && item->launch != KINO_NO_ROW)
        fill_by_marks(w, item, grid, &kind, row);
    else
        fill_by_operator(w, item, &kind, row);
    row->kind = kino__kernel_rows_kind(w->out, &kind);
    return row->kind != UINT32_MAX && !w->failed && !w->places.failed;
}

/* Room for the rows: that of the work, if nobody needs it afterwards. */
static bool find_room(walking *w, const kino__kernel_order *order, bool *is_in_place)
{
    kino__cost_work *own = w->walk->own;
    *is_in_place = own && order->count == own->items.count && order->count;
    if (!*is_in_place)
        return kino__vec_reserve(&w->out->rows, order->count);
    w->out->rows.items = (kino__kernel_slot *)(void *)own->items.items;
    w->out->rows.capacity = own->items.capacity;
    return true;
}

static kino_status visit_each(walking *w, const kino__kernel_order *order, bool is_in_place,
                              kino_error *err)
{
    for (size_t i = 0; i < order->count; i++) {
        uint32_t number = order->visited[i];
        kino__work_item item = w->walk->work->items.items[number];
        kino__kernel_slot *slot = &w->out->rows.items[is_in_place ? number : order->place[number]];
        kino__kernel_row row;
        if (!visit(w, &item, &row) || !kino__kernel_rows_set(w->out, slot, &row))
            return kino__fail_nomem(err);
        if (i % 65536 == 65535 && kino__progress_is_cancelled(w->walk->progress))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    return KINO_OK;
}

static kino_status visit_all(walking *w, kino__kernel_order *order, kino_error *err)
{
    bool is_in_place = false;
    bool ok = find_room(w, order, &is_in_place);
    kino_status st = ok ? visit_each(w, order, is_in_place, err) : kino__fail_nomem(err);
    if (is_in_place) { /* the room is the rows' now */
        w->walk->own->items.items = NULL;
        w->walk->own->items.count = w->walk->own->items.capacity = 0;
    }
    if (st == KINO_OK && is_in_place)
        kino__kernel_order_apply(order, w->out->rows.items);
    w->out->rows.count = st == KINO_OK ? order->count : 0;
    return st;
}

static kino_strid *unknown_names_new(const kino__trace *trace)
{
    size_t count = kino__string_pool_count(&trace->strings);
    kino_strid *names = malloc((count + 1) * sizeof *names);
    for (size_t i = 0; names && i < count; i++)
        names[i] = UNKNOWN_NAME;
    return names;
}

kino_status kino__kernel_walk_run(const kino__kernel_walk *walk, kino_error *err)
{
    const kino__trace *trace = walk->work->trace;
    walking w = {.walk = walk,
                 .trace = trace,
                 .out = walk->out,
                 .known_layer = KINO_NO_ROW,
                 .has_marks = walk->is_compat || kino__trace_has_pyprof(trace)};
    kino__map *const maps[] = {&w.states, &w.by_sequence, &w.by_other, &w.shape_of_key,
                               &w.params_of_call};
    enum { MAPS = sizeof maps / sizeof *maps };
    for (size_t i = 0; i < MAPS; i++)
        kino__map_init(maps[i], NULL);
    kino__text_cursor_init(&w.cursor, trace->text);
    w.sub_of_op = calloc(walk->work->costs.ops.count + 1, sizeof *w.sub_of_op);
    w.name_of_text = unknown_names_new(trace);
    kino__kernel_order order = {0}; /* first: sorting takes memory that places take later */
    bool ok = w.sub_of_op && w.name_of_text && kino__kernel_order_init(&order, walk) &&
              kino__int_argument_init(&w.sequence, trace, "Sequence number") &&
              (!w.has_marks || kino__marks_reader_init(&w.reader, trace, walk->is_compat));
    kino__cost_places_init(&w.places, walk->work, walk->own != NULL);
    kino_status st = ok ? visit_all(&w, &order, err) : kino__fail_nomem(err);
    kino__kernel_order_deinit(&order);
    kino__cost_places_deinit(&w.places);
    kino__marks_reader_deinit(&w.reader);
    kino__kernel_marks_deinit(&w.marks);
    kino__text_cursor_deinit(&w.cursor);
    for (size_t i = 0; i < MAPS; i++)
        kino__map_deinit(maps[i]);
    kino__vec_deinit(&w.shapes);
    kino__vec_deinit(&w.numberings);
    kino__vec_deinit(&w.forwards);
    kino__vec_deinit(&w.others);
    kino__vec_deinit(&w.frames);
    kino__op_call_deinit(&w.call);
    kino__op_inputs_deinit(&w.inputs);
    kino__pyprof_cost_deinit(&w.cost);
    kino__buffer_deinit(&w.text);
    kino__buffer_deinit(&w.name);
    kino__arena_deinit(&w.arena);
    free(w.sub_of_op);
    free(w.name_of_text);
    return st;
}
