/* operators_args.c - shapes and call stacks of operators.
 *
 * Old traces have the stack as an argument of the operator. Newer ones have Python calls as spans:
 * an operator's stack is then the chain of calls around it (not in compat mode: the TensorBoard
 * plugin knows the argument only). Stacks are told apart by numbers, one a (caller's stack, name),
 * and become text once each.
 *
 *   node --> args text --> value as written --> number in a worker's pool --> text as Python
 *
 * Most operators of most traces have no stack: a search for the key rules them out without reading
 * members. */
#include <stdlib.h>

#include "analysis/operators/operators_internal.h"
#include "analysis/python_text.h"
#include "model/profile/profile.h"
#include "store/args.h"
#include "store/link.h"
#include "store/op_inputs.h"

static const char stack_key[] = "Call stack";
enum {
    BLOCK = 4096,
    KEY_SIZE = 10,   /* of stacks, and of both keys of shapes */
    MOST_CALLS = 256 /* of a stack made from spans; Python code rarely goes deeper than 100 */
};

static bool is_listed(const kino__node *n)
{
    return n->is_operator && !n->is_dropped && n->row != KINO_NO_ROW;
}

/* -- arguments as text, block by block */

typedef struct worker {
    kino__text_cursor cursor;
    kino__string_pool raw; /* values as written */
    bool failed;
} worker;

typedef struct reading {
    kino__operator_args *args;
    const kino__profile *p;
    worker *workers;
    uint8_t *worker_of_block;
} reading;

static kino_strid keep(worker *w, kino_str value)
{
    if (value.size == 0)
        return KINO_NO_STRING;
    kino_strid id = kino__string_pool_add(&w->raw, value);
    w->failed |= id == KINO_NO_STRING;
    return id;
}

static bool is_empty_value(kino_str value)
{
    return value.size == 0 || kino__str_is(value, "\"\"") || kino__str_is(value, "null");
}

static void read_node(reading *r, worker *w, uint32_t node)
{
    kino__operator_args *args = r->args;
    kino_str text = kino__args_text(r->p->trace, r->p->nodes.items[node].row, &w->cursor);
    kino_str key, value, shape = {0}, other_shape = {0}, stack = {0};
    if (!args->wants_shapes &&
        (text.size < KEY_SIZE || !memmem(text.data, text.size, stack_key, KEY_SIZE)))
        return;
    kino__args_iter it = kino__args_iter_start(text);
    while (kino__args_iter_next(&it, &key, &value)) {
        if (key.size != KEY_SIZE)
            continue;
        if (memcmp(key.data, kino__shape_keys[0], KEY_SIZE) == 0)
            shape = value;
        else if (memcmp(key.data, kino__shape_keys[1], KEY_SIZE) == 0)
            other_shape = value;
        else if (memcmp(key.data, stack_key, KEY_SIZE) == 0)
            stack = value;
    }
    if (args->shape)
        args->shape[node] = keep(w, shape.size ? shape : other_shape);
    if (is_empty_value(stack))
        return;
    args->has_stack[node] = 1;
    if (args->stack)
        args->stack[node] = keep(w, stack);
}

static void read_block(void *context, unsigned index, size_t block)
{
    reading *r = context;
    worker *w = &r->workers[index];
    size_t first = block * BLOCK, end = first + BLOCK;
    if (end > r->p->nodes.count)
        end = r->p->nodes.count;
    r->worker_of_block[block] = (uint8_t)index;
    bool wants_texts = r->args->shape || r->args->stack;
    for (size_t i = first; i < end; i++)
        if (is_listed(&r->p->nodes.items[i]) && (wants_texts || !r->args->has_stack[i]))
            read_node(r, w, (uint32_t)i);
}

/* -- from values as written to texts: once each, in order of nodes, whatever thread read them */

static kino_strid to_text(kino__operator_args *args, kino_str value, bool is_json,
                          kino__buffer *scratch)
{
    scratch->size = 0;
    if (is_json)
        kino__python_text(value, scratch);
    else
        kino__buffer_add(scratch, value);
    return scratch->failed ? KINO_NO_STRING
                           : kino__string_pool_add(&args->texts, kino__buffer_str(scratch));
}

/* Numbers of a pool that became texts; KINO_NO_STRING: not yet. */
static kino_strid *memo_new(size_t count)
{
    kino_strid *memo = malloc((count + 1) * sizeof *memo);
    if (memo)
        memset(memo, 0xff, (count + 1) * sizeof *memo);
    return memo;
}

static bool rename_ids(reading *r, kino_strid *const *memos, kino_strid *ids, kino__buffer *scratch)
{
    for (size_t i = 0; ids && i < r->p->nodes.count; i++) {
        if (ids[i] == KINO_NO_STRING)
            continue;
        unsigned index = r->worker_of_block[i / BLOCK];
        kino_strid *known = &memos[index][ids[i]];
        if (*known == KINO_NO_STRING)
            *known = to_text(r->args, kino__string_pool_text(&r->workers[index].raw, ids[i]), true,
                             scratch);
        if (*known == KINO_NO_STRING)
            return false;
        ids[i] = *known;
    }
    return true;
}

static bool join_workers(reading *r, unsigned jobs)
{
    kino_strid **memos = calloc(jobs, sizeof *memos);
    kino__buffer scratch = {0};
    bool ok = memos != NULL;
    for (unsigned j = 0; ok && j < jobs; j++) {
        memos[j] = memo_new(kino__string_pool_count(&r->workers[j].raw));
        ok = memos[j] && !r->workers[j].failed;
    }
    ok = ok && rename_ids(r, memos, r->args->shape, &scratch) &&
         rename_ids(r, memos, r->args->stack, &scratch);
    for (unsigned j = 0; memos && j < jobs; j++)
        free(memos[j]);
    free(memos);
    kino__buffer_deinit(&scratch);
    return ok;
}

static bool read_texts(kino__operator_args *args, const kino__profile *p, kino__pool *pool)
{
    unsigned jobs = kino__pool_jobs(pool);
    size_t blocks = (p->nodes.count + BLOCK - 1) / BLOCK;
    reading r = {args, p, calloc(jobs, sizeof *r.workers), calloc(blocks + 1, 1)};
    bool ok = r.workers && r.worker_of_block && jobs <= UINT8_MAX;
    for (unsigned j = 0; ok && j < jobs; j++) {
        kino__text_cursor_init(&r.workers[j].cursor, p->trace->text);
        kino__string_pool_init(&r.workers[j].raw, NULL);
    }
    if (ok) {
        kino__pool_run(pool, blocks, read_block, &r);
        ok = join_workers(&r, jobs);
        for (unsigned j = 0; j < jobs; j++) {
            kino__text_cursor_deinit(&r.workers[j].cursor);
            kino__string_pool_deinit(&r.workers[j].raw);
        }
    }
    free(r.workers);
    free(r.worker_of_block);
    return ok;
}

/* -- arguments that the source has in columns already (.kino) */

typedef struct taking {
    kino__operator_args *args;
    const kino__profile *p;
    kino_strid *ids; /* of each node, or NULL */
    bool is_stack;
    kino__string_pool seen;
    KINO__VEC(kino_strid) memo; /* of each text that was seen: in args */
    kino__buffer scratch;
} taking;

/* The number in args of a text, KINO_NO_STRING when memory is out. */
static kino_strid keep_once(taking *t, kino_str text)
{
    kino_strid from = kino__string_pool_add(&t->seen, text);
    if (from != t->memo.count)
        return from == KINO_NO_STRING ? from : t->memo.items[from];
    kino_strid *slot = kino__vec_add(&t->memo);
    if (!slot)
        return KINO_NO_STRING;
    *slot = to_text(t->args, text, !t->is_stack && text.size && text.data[0] == '[', &t->scratch);
    return *slot;
}

static bool take_text(void *context, uint32_t row, kino_str text)
{
    taking *t = context;
    uint32_t node = kino__profile_node_of(t->p, row);
    if (node == KINO__NO_NODE || !is_listed(&t->p->nodes.items[node]) ||
        (t->is_stack && (text.size == 0 || kino__str_is(text, "null"))))
        return true;
    if (t->is_stack)
        t->args->has_stack[node] = 1;
    if (!t->ids || t->ids[node] != KINO_NO_STRING)
        return true;
    t->ids[node] = keep_once(t, text);
    return t->ids[node] != KINO_NO_STRING;
}

/* Compat: trees of the backward pass may be there twice, with the same rows. */
static void copy_to_second(taking *t, uint32_t node)
{
    uint32_t row = t->p->nodes.items[node].row;
    uint32_t first = row == KINO_NO_ROW ? node : kino__profile_node_of(t->p, row);
    if (first == node)
        return;
    t->args->has_stack[node] |= t->args->has_stack[first];
    if (t->ids && t->ids[node] == KINO_NO_STRING)
        t->ids[node] = t->ids[first];
}

static bool take_column(kino__operator_args *args, const kino__profile *p, const char *key,
                        kino_strid *ids, bool is_stack)
{
    taking t = {.args = args, .p = p, .ids = ids, .is_stack = is_stack};
    kino__string_pool_init(&t.seen, NULL);
    bool ok = kino__args_each_string(p->trace, key, take_text, &t);
    for (size_t i = 0; ok && p->is_compat && i < p->nodes.count; i++)
        copy_to_second(&t, (uint32_t)i);
    kino__string_pool_deinit(&t.seen);
    kino__vec_deinit(&t.memo);
    kino__buffer_deinit(&t.scratch);
    return ok;
}

static bool read_columns(kino__operator_args *args, const kino__profile *p)
{
    if (args->shape && (!take_column(args, p, kino__shape_keys[0], args->shape, false) ||
                        !take_column(args, p, kino__shape_keys[1], args->shape, false)))
        return false;
    return take_column(args, p, stack_key, args->stack, true);
}

/* -- Python calls around an operator */

static bool is_python(const kino__profile *p, uint32_t row)
{
    return p->type[row] == KINO__EVENT_TYPE_PYTHON_FUNCTION ||
           p->type[row] == KINO__EVENT_TYPE_MODULE;
}

/* Rows of a track stand in order of start, longer first: a span lies in an earlier one exactly when
 * the latest end so far is not before its own. */
static bool mark_inside_python(kino__operator_args *args, const kino__profile *p)
{
    bool found = false;
    for (size_t t = 0; t < p->trace->tracks.count; t++) {
        const kino__track *track = &p->trace->tracks.items[t];
        int64_t latest = INT64_MIN;
        for (uint32_t row = track->first; row < track->first + track->count; row++) {
            uint32_t node = kino__profile_node_of(p, row);
            bool is_call = is_python(p, row);
            if (!is_call && (node == KINO__NO_NODE || !is_listed(&p->nodes.items[node])))
                continue;
            int64_t end = kino__row_end(p->trace, row);
            if (is_call)
                latest = end > latest ? end : latest;
            else if (end <= latest)
                args->has_stack[node] = found = true;
        }
    }
    return found;
}

/* Distinct stacks: each a call and the stack of its caller. */
typedef struct frame {
    uint32_t caller; /* index, UINT32_MAX at the bottom */
    kino_strid name;
    kino_strid text; /* of the whole stack, KINO_NO_STRING: nobody asked yet */
} frame;

typedef struct stacks {
    KINO__VEC(frame) frames;
    kino__map by_key;       /* caller + 1 and name -> index */
    uint32_t *frame_of_row; /* of Python calls; UINT32_MAX: not known yet */
} stacks;

static bool add_frame(stacks *s, const kino__trace *trace, uint32_t row, uint32_t caller)
{
    uint64_t key = (uint64_t)(caller + 1) << 32 | trace->name[row];
    uint32_t *index = kino__map_put(&s->by_key, key, (uint32_t)s->frames.count);
    if (!index)
        return false;
    if (*index == s->frames.count) {
        frame *fresh = kino__vec_add(&s->frames);
        if (!fresh)
            return false;
        *fresh = (frame){caller, trace->name[row], KINO_NO_STRING};
    }
    s->frame_of_row[row] = *index;
    return true;
}

/* Innermost call first, as in the argument. What lies outside the innermost MOST_CALLS is left out:
 * the texts of a runaway recursion would grow with the square of its depth. */
static kino_strid frame_text(stacks *s, uint32_t index, const kino__trace *trace,
                             kino__operator_args *args, kino__buffer *scratch)
{
    frame *f = &s->frames.items[index];
    if (f->text != KINO_NO_STRING)
        return f->text;
    scratch->size = 0;
    int calls = 0;
    for (uint32_t i = index; i != UINT32_MAX && calls < MOST_CALLS; i = s->frames.items[i].caller) {
        if (calls++)
            kino__buffer_add(scratch, KINO__STR(";"));
        kino__buffer_add(scratch, kino__trace_string(trace, s->frames.items[i].name));
    }
    if (!scratch->failed)
        f->text = kino__string_pool_add(&args->texts, kino__buffer_str(scratch));
    return f->text;
}

/* Callers stand before what they call, on the same track. */
static bool take_stacks(stacks *s, const kino__profile *p, const uint32_t *python_parent,
                        kino__operator_args *args, kino__buffer *scratch)
{
    for (uint32_t row = 0; row < p->trace->event_count; row++) {
        uint32_t parent = python_parent[row], node = kino__profile_node_of(p, row);
        uint32_t caller = parent == KINO_NO_ROW ? UINT32_MAX : s->frame_of_row[parent];
        if (is_python(p, row) && !add_frame(s, p->trace, row, caller))
            return false;
        if (node == KINO__NO_NODE || !is_listed(&p->nodes.items[node]) ||
            args->stack[node] != KINO_NO_STRING)
            continue;
        args->has_stack[node] = caller != UINT32_MAX;
        if (caller == UINT32_MAX)
            continue;
        args->stack[node] = frame_text(s, caller, p->trace, args, scratch);
        if (args->stack[node] == KINO_NO_STRING)
            return false;
    }
    return true;
}

static bool read_python(kino__operator_args *args, const kino__profile *p)
{
    size_t size = (size_t)p->trace->event_count * sizeof(uint32_t);
    const uint32_t *python_parent = kino__link_python_parent(p->trace);
    stacks s = {.frame_of_row = malloc(size + 1)};
    kino__map_init(&s.by_key, NULL);
    kino__buffer scratch = {0};
    bool ok = python_parent && s.frame_of_row;
    if (ok) {
        memset(s.frame_of_row, 0xff, size);
        ok = take_stacks(&s, p, python_parent, args, &scratch);
    }
    kino__buffer_deinit(&scratch);
    kino__map_deinit(&s.by_key);
    kino__vec_deinit(&s.frames);
    free(s.frame_of_row);
    return ok;
}

bool kino__operator_args_read(kino__operator_args *args, const kino__profile *p, kino__pool *pool)
{
    kino__string_pool_init(&args->texts, NULL);
    args->has_stack = calloc(p->nodes.count + 1, 1);
    args->shape = args->wants_shapes ? memo_new(p->nodes.count) : NULL;
    args->stack = args->wants_stacks ? memo_new(p->nodes.count) : NULL;
    if (!args->has_stack || (args->wants_shapes && !args->shape) ||
        (args->wants_stacks && !args->stack))
        return false;
    bool has_python = !p->is_compat && mark_inside_python(args, p);
    bool has_columns = p->trace->source && p->trace->source->visit_arg;
    bool ok = has_columns ? read_columns(args, p) : read_texts(args, p, pool);
    return ok && (!has_python || !args->stack || read_python(args, p));
}

void kino__operator_args_deinit(kino__operator_args *args)
{
    free(args->shape);
    free(args->stack);
    free(args->has_stack);
    kino__string_pool_deinit(&args->texts);
}
