/* profile.c - making a profile, stage after stage, and keeping it with its trace. */
#include <stdlib.h>

#include "model/profile/profile_internal.h"
#include "store/link.h"

static void profile_free(void *value)
{
    kino__profile *p = value;
    if (!p)
        return;
    free(p->type);
    free(p->types_of_track);
    free(p->name_flags);
    free(p->track_nodes);
    kino__row_rank_deinit(&p->node_rows);
    kino__vec_deinit(&p->threads);
    kino__vec_deinit(&p->nodes);
    kino__vec_deinit(&p->extras);
    kino__vec_deinit(&p->launches);
    kino__vec_deinit(&p->work);
    kino__vec_deinit(&p->stale);
    kino__vec_deinit(&p->steps);
    kino__step_map_deinit(&p->step_map);
    for (int r = 0; r < KINO__ROLE_COUNT; r++)
        kino__vec_deinit(&p->ranges[r]);
    kino__vec_deinit(&p->comm);
    kino__vec_deinit(&p->comm_ranges);
    kino__vec_deinit(&p->kernels);
    kino__vec_deinit(&p->shapes);
    kino__vec_deinit(&p->devices);
    kino__vec_deinit(&p->metrics);
    kino__string_pool_deinit(&p->texts);
    free(p);
}

typedef struct request {
    bool is_compat;
    kino__pool *pool;
    kino__trace *alone; /* the trace, when nobody else uses it; or NULL */
    bool is_last;
    void (*beside)(void *context);
    void *context;
} request;

/* -- stages that do not need each other run at the same time */

typedef struct making {
    kino__profile *p;
    const request *request;
    kino__kernel_reader *reader;
    bool is_done[3];
} making;

static void begin(void *context, unsigned worker, size_t index)
{
    (void)worker;
    making *m = context;
    switch (index) {
    case 0: /* needs more memory than all else here: not beside what needs much, too */
        if (m->request->beside)
            m->request->beside(m->request->context);
        else
            m->is_done[0] = kino__profile_nest(m->p);
        break;
    case 1:
        m->is_done[1] = kino__link_launch(m->p->trace) != NULL;
        break;
    default:
        m->is_done[2] = kino__profile_list_kernels(m->p);
    }
}

/* Trees are grown by one thread, while others read arguments of kernels. */
static void grow(void *context, unsigned worker, size_t index)
{
    making *m = context;
    kino__trace *last = m->request->is_last ? m->request->alone : NULL;
    if (index > 0) {
        kino__kernel_reader_read(m->reader, worker, index - 1);
        return;
    }
    m->is_done[0] = (!m->request->beside || kino__profile_nest(m->p)) &&
                    kino__profile_grow_trees(m->p) && kino__profile_add_backward(m->p, last);
}

static bool make_trees(kino__profile *p, const request *r)
{
    kino__pool *pool = r->pool;
    making m = {.p = p, .request = r};
    kino__pool_run(pool, 3, begin, &m);
    if ((!m.is_done[0] && !r->beside) || !m.is_done[1] || !m.is_done[2])
        return false;
    m.reader = kino__kernel_reader_new(p, kino__pool_jobs(pool));
    if (!m.reader)
        return false;
    m.is_done[0] = false;
    kino__pool_run(pool, 1 + kino__kernel_reader_blocks(m.reader), grow, &m);
    bool ok = m.is_done[0] && kino__kernel_reader_finish(m.reader) && kino__profile_name_nodes(p);
    kino__vec_trim(&p->nodes);
    kino__vec_trim(&p->extras);
    kino__vec_trim(&p->launches);
    kino__kernel_reader_free(m.reader);
    return ok;
}

static void *profile_make(const kino__trace *trace, void *context)
{
    const request *r = context;
    kino__profile *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->trace = trace;
    p->is_compat = r->is_compat;
    kino__string_pool_init(&p->texts, NULL);
    if (kino__trace_need(trace, KINO__COLUMN_ALL, r->pool) && kino__profile_find_types(p) &&
        make_trees(p, r) && kino__profile_find_comm(p) && kino__profile_find_steps(p)) {
        if (r->alone) {
            kino__trace_forget_links(r->alone);
            if (r->is_last)
                kino__trace_drop_columns(r->alone, KINO__COLUMNS_OF_IDS);
        }
        if (kino__profile_break_down(p) && kino__profile_measure(p))
            return p;
    }
    profile_free(p);
    return NULL;
}

static const kino__profile *get(const kino__trace *trace, request r)
{
    static const char default_key, compat_key;
    return kino__trace_attachment(trace, r.is_compat ? &compat_key : &default_key, profile_make, &r,
                                  profile_free);
}

const kino__profile *kino__profile_of(const kino__trace *trace, bool is_compat, kino__pool *pool)
{
    return get(trace, (request){.is_compat = is_compat, .pool = pool});
}

const kino__profile *kino__profile_alone(kino__trace *trace, bool is_compat, kino__pool *pool,
                                         bool is_last, void (*beside)(void *context), void *context)
{
    return get(trace, (request){is_compat, pool, trace, is_last, beside, context});
}
