/* plant_sim.c - runs the programs of all ranks of a planted run against each other. */
#include "demo/plant_sim.h"

#include "base/error.h"

enum { LATENCY_NS = 3500, STREAM_GAP_NS = 800, CALL_NS = 3000, POST_NS = 12000 };
#define BEGIN_NS INT64_C(1780000000123456789)

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A duration with the run's noise. */
static int64_t vary(const kino__plant_sim *sim, kino__plant_rank *r, int64_t ns)
{
    int64_t noise = (int64_t)sim->shape.noise;
    return ns * (1000 + kino__plant_between(&r->random, -noise, noise)) / 1000;
}

static bool is_recorded(const kino__plant_shape *s, const kino__plant_rank *r)
{
    unsigned steps = s->steps - (r->rank == s->missing_rank ? s->missing_steps : 0);
    return r->step >= KINO__PLANT_WARM_UP && r->step < KINO__PLANT_WARM_UP + steps;
}

/* Of a device, and maybe still running when the recording begins. */
static bool is_early(const kino__plant_rank *r, const kino__plant_event *event)
{
    return r->step < KINO__PLANT_WARM_UP &&
           (event->kind == KINO__PLANT_KERNEL || event->kind == KINO__PLANT_MEMCPY ||
            event->kind == KINO__PLANT_COLLECTIVE);
}

/* The place of the event, or SIZE_MAX when it is not recorded. */
static size_t add(const kino__plant_sim *sim, kino__plant_rank *r, kino__plant_event event)
{
    event.is_early = is_early(r, &event);
    if (!is_recorded(&sim->shape, r) && !event.is_early)
        return SIZE_MAX;
    kino__plant_event *slot = kino__vec_add(&r->events);
    if (!slot) {
        r->has_failed = true;
        return SIZE_MAX;
    }
    *slot = event;
    return r->events.count - 1;
}

static size_t add_host(const kino__plant_sim *sim, kino__plant_rank *r, kino__plant_event event)
{
    event.ts = r->now;
    event.thread = r->thread;
    return add(sim, r, event);
}

static void close_at(kino__plant_rank *r, size_t event)
{
    if (event != SIZE_MAX)
        r->events.items[event].dur = r->now - r->events.items[event].ts;
}

/* -- groups -- */

static unsigned group_of(const kino__plant_shape *s, const kino__plant_rank *r,
                         const kino__plant_code *code, unsigned *size)
{
    switch (code->stream) {
    case KINO__PLANT_TP:
        *size = s->tp;
        return KINO__PLANT_MAX_RANKS + r->rank / s->tp;
    case KINO__PLANT_SEND:
    case KINO__PLANT_RECV: {
        unsigned from = code->stream == KINO__PLANT_SEND ? r->rank : code->peer;
        unsigned to = code->stream == KINO__PLANT_SEND ? code->peer : r->rank;
        *size = 2;
        return 2 * KINO__PLANT_MAX_RANKS + from * 2 + (to > from);
    }
    default:
        *size = s->dp;
        return kino__plant_stage(s, r->rank) * s->tp + r->rank % s->tp;
    }
}

/* Sends to the next stage and to the one before are numbered apart. */
static unsigned *next_sequence(kino__plant_rank *r, const kino__plant_code *code)
{
    bool is_p2p = code->stream == KINO__PLANT_SEND || code->stream == KINO__PLANT_RECV;
    return &r->sequence[code->stream][is_p2p && code->peer > r->rank];
}

static kino__plant_instance *instance_at(kino__plant_sim *sim, kino__plant_rank *r, unsigned group,
                                         unsigned sequence)
{
    kino__plant_group *g = &sim->groups[group];
    while (g->list.count <= sequence) {
        kino__plant_instance *slot = kino__vec_add(&g->list);
        if (!slot) {
            r->has_failed = true;
            return NULL;
        }
        *slot = (kino__plant_instance){0};
    }
    return &g->list.items[sequence];
}

/* When the last collective of a stream was over; false: not known yet. */
static bool end_of(kino__plant_sim *sim, kino__plant_rank *r, size_t post, int64_t *end)
{
    *end = INT64_MIN;
    if (post == SIZE_MAX)
        return true;
    const kino__plant_post *p = &r->posts.items[post];
    const kino__plant_instance *in = instance_at(sim, r, p->group, p->sequence);
    if (in && in->is_over)
        *end = in->end;
    return in && in->is_over;
}

/* -- device -- */

static void cast_shadows(kino__plant_rank *r, int64_t start, int64_t end)
{
    for (unsigned i = 0; i < r->open_count; i++) {
        if (start < r->open[i].first)
            r->open[i].first = start;
        r->open[i].last = most(r->open[i].last, end);
    }
}

static kino_str launch_name(const kino__plant_shape *s, kino__plant_event_kind kind)
{
    bool is_hip = s->era == KINO__ERA_ROCM;
    if (kind == KINO__PLANT_MEMCPY)
        return is_hip ? KINO__STR("hipMemcpyWithStream") : KINO__STR("cudaMemcpyAsync");
    return is_hip ? KINO__STR("hipLaunchKernel") : KINO__STR("cudaLaunchKernel");
}

static void add_call(const kino__plant_sim *sim, kino__plant_rank *r, kino_str name, int64_t ns)
{
    if (sim->shape.kind != KINO__PLANT_NO_LAUNCH)
        (void)add_host(sim, r,
                       (kino__plant_event){.kind = KINO__PLANT_CALL,
                                           .name = name,
                                           .dur = ns,
                                           .id = r->next_id,
                                           .external = r->next_external});
    r->now += ns;
}

/* The host stands still in the call while the queue is full. */
static int64_t queue_wait(const kino__plant_shape *s, const kino__plant_rank *r)
{
    if (r->starts.count < s->queue)
        return 0;
    int64_t wait = r->starts.items[r->starts.count - s->queue] - r->now;
    return wait > 0 ? wait : 0;
}

static void launch(kino__plant_sim *sim, kino__plant_rank *r, kino__plant_event event, int64_t ns,
                   int64_t call_ns)
{
    call_ns += queue_wait(&sim->shape, r);
    int64_t arrival = r->now + call_ns / 2 + LATENCY_NS;
    int64_t *end = &r->stream_end[event.stream];
    event.ts = most(arrival, *end + STREAM_GAP_NS);
    event.dur = vary(sim, r, ns);
    event.id = r->next_id;
    event.external = r->next_external;
    add_call(sim, r, launch_name(&sim->shape, event.kind), call_ns);
    (void)add(sim, r, event);
    *end = event.ts + event.dur;
    if (event.stream == KINO__PLANT_COMPUTE)
        cast_shadows(r, event.ts, *end);
    int64_t *start = kino__vec_add(&r->starts);
    if (start)
        *start = event.ts;
    else
        r->has_failed = true;
    r->next_id++;
}

/* -- verbs -- */

static void open_span(const kino__plant_sim *sim, kino__plant_rank *r, const kino__plant_code *code)
{
    bool is_python = code->verb == KINO__VERB_PYTHON;
    kino__plant_event event = {.kind = is_python ? KINO__PLANT_PYTHON : KINO__PLANT_ANNOTATION,
                               .name = code->name,
                               .number = code->number};
    if (is_python) {
        event.id = r->next_python++;
        event.parent = r->python_parent;
        r->python_parent = event.id;
    } else {
        event.external = ++r->next_external;
    }
    r->open[r->open_count++] = (kino__plant_open){add_host(sim, r, event), INT64_MAX, INT64_MIN};
    r->now += 1500;
}

static void close_span(const kino__plant_sim *sim, kino__plant_rank *r)
{
    r->now += 700;
    kino__plant_open open = r->open[--r->open_count];
    close_at(r, open.event);
    if (open.event == SIZE_MAX)
        return;
    kino__plant_event *e = &r->events.items[open.event];
    if (e->kind == KINO__PLANT_PYTHON) {
        r->python_parent = e->parent;
        return;
    }
    if (!sim->shape.has_device_steps || open.first > open.last)
        return;
    (void)add(sim, r,
              (kino__plant_event){.kind = KINO__PLANT_SHADOW,
                                  .name = e->name,
                                  .number = e->number,
                                  .ts = open.first,
                                  .dur = open.last - open.first,
                                  .external = e->external});
}

static void run_op(kino__plant_sim *sim, kino__plant_rank *r, const kino__plant_code *code)
{
    const kino__plant_shape *s = &sim->shape;
    int64_t host = vary(sim, r, code->host_ns);
    r->next_external++;
    size_t outer = add_host(sim, r,
                            (kino__plant_event){.kind = KINO__PLANT_OP,
                                                .name = code->name,
                                                .number = -1,
                                                .external = r->next_external});
    r->now += host / 5;
    size_t inner = SIZE_MAX;
    if (code->inner.size) {
        r->next_external++;
        inner = add_host(sim, r,
                         (kino__plant_event){.kind = KINO__PLANT_OP,
                                             .name = code->inner,
                                             .number = -1,
                                             .external = r->next_external});
    }
    if (s->is_cpu) {
        r->now += host * 3 / 5;
    } else {
        int64_t call = host * 3 / 10 < CALL_NS ? host * 3 / 10 : CALL_NS;
        r->now += host * 3 / 5 - call;
        launch(sim, r,
               (kino__plant_event){
                   .kind = KINO__PLANT_KERNEL, .stream = KINO__PLANT_COMPUTE, .name = code->kernel},
               code->device_ns, call);
    }
    close_at(r, inner);
    r->now += host / 5;
    close_at(r, outer);
}

/* Of an operator on the host, where launches are not made free. */
static int64_t host_cost(const kino__plant_sim *sim, int64_t ns)
{
    return sim->shape.change == KINO__CHANGE_LAUNCHES ? 0 : ns;
}

static void run_copy(kino__plant_sim *sim, kino__plant_rank *r, const kino__plant_code *code)
{
    r->next_external++;
    size_t op = add_host(sim, r,
                         (kino__plant_event){.kind = KINO__PLANT_OP,
                                             .name = KINO__STR("aten::copy_"),
                                             .number = -1,
                                             .external = r->next_external});
    r->now += host_cost(sim, 2000);
    uint8_t stream = sim->shape.has_copy_stream ? KINO__PLANT_COPY : KINO__PLANT_COMPUTE;
    launch(sim, r,
           (kino__plant_event){.kind = KINO__PLANT_MEMCPY,
                               .stream = stream,
                               .bytes = code->device_ns * (code->is_pageable ? 3 : 22) + 1,
                               .name = code->is_pageable
                                           ? KINO__STR("Memcpy HtoD (Pageable -> Device)")
                                           : KINO__STR("Memcpy HtoD (Pinned -> Device)")},
           code->device_ns, code->is_pageable ? CALL_NS : host_cost(sim, CALL_NS));
    if (code->is_pageable) { /* the call is over when the copy is */
        int64_t wait = most(r->stream_end[stream] - r->now, 0);
        r->now += wait;
        if (op != SIZE_MAX && r->events.count > op + 2)
            r->events.items[op + 1].dur += wait;
    }
    r->stream_end[KINO__PLANT_COMPUTE] =
        most(r->stream_end[KINO__PLANT_COMPUTE], r->stream_end[stream]);
    close_at(r, op);
}

static void lose_processor(const kino__plant_sim *sim, kino__plant_rank *r,
                           const kino__plant_code *code)
{
    size_t event =
        add_host(sim, r,
                 (kino__plant_event){
                     .kind = KINO__PLANT_OFF_CPU, .name = KINO__STR("off-CPU"), .number = -1});
    r->now += vary(sim, r, code->host_ns);
    close_at(r, event);
}

static void run_item(kino__plant_sim *sim, kino__plant_rank *r)
{
    r->next_external += 2;
    kino__plant_event op = {.kind = KINO__PLANT_OP, .number = -1};
    op.name = KINO__STR("aten::item");
    op.external = r->next_external - 1;
    size_t outer = add_host(sim, r, op);
    r->now += host_cost(sim, 900);
    op.name = KINO__STR("aten::_local_scalar_dense");
    op.external = r->next_external;
    size_t inner = add_host(sim, r, op);
    r->now += host_cost(sim, 900);
    launch(sim, r,
           (kino__plant_event){.kind = KINO__PLANT_MEMCPY,
                               .stream = KINO__PLANT_COMPUTE,
                               .bytes = 4,
                               .name = KINO__STR("Memcpy DtoH (Device -> Pageable)")},
           1200, host_cost(sim, CALL_NS));
    int64_t wait = most(r->stream_end[KINO__PLANT_COMPUTE] - r->now, 0) + 1500;
    add_call(sim, r,
             sim->shape.era == KINO__ERA_ROCM ? KINO__STR("hipStreamSynchronize")
                                              : KINO__STR("cudaStreamSynchronize"),
             wait);
    r->next_id++;
    close_at(r, inner);
    r->now += host_cost(sim, 600);
    close_at(r, outer);
}

/* -- collectives -- */

static bool arrive(kino__plant_sim *sim, kino__plant_rank *r, const kino__plant_code *code,
                   int64_t ready, kino__plant_post post)
{
    unsigned size;
    post.group = group_of(&sim->shape, r, code, &size);
    post.sequence = (*next_sequence(r, code))++;
    kino__plant_instance *in = instance_at(sim, r, post.group, post.sequence);
    kino__plant_post *slot = kino__vec_add(&r->posts);
    if (!in || !slot) {
        r->has_failed = true;
        return true;
    }
    *slot = post;
    r->last_post[code->stream] = r->posts.count - 1;
    in->ready = in->posted ? most(in->ready, ready) : ready;
    in->transfer = most(in->transfer, code->device_ns);
    if (++in->posted == size) {
        in->end = in->ready + in->transfer;
        in->is_over = true;
    }
    return true;
}

static size_t open_comms(const kino__plant_sim *sim, kino__plant_rank *r,
                         const kino__plant_code *code, kino__plant_event_kind kind, kino_str name)
{
    r->next_external++;
    return add_host(sim, r,
                    (kino__plant_event){.kind = (uint8_t)kind,
                                        .name = name,
                                        .number = -1,
                                        .stream = code->stream,
                                        .peer = code->peer,
                                        .bytes = code->number,
                                        .sequence = *next_sequence(r, code),
                                        .external = r->next_external});
}

/* Work of gloo runs in threads of its own, two at a time. */
static bool post_gloo(kino__plant_sim *sim, kino__plant_rank *r, const kino__plant_code *code)
{
    int64_t before;
    size_t earlier = r->gloo_count >= 2 ? r->posts.count - 2 : SIZE_MAX;
    if (!end_of(sim, r, earlier, &before))
        return false;
    size_t op = open_comms(sim, r, code, KINO__PLANT_OP, code->inner);
    r->now += POST_NS / 2;
    size_t comms = SIZE_MAX;
    if (sim->shape.has_comm_shadows && sim->shape.era == KINO__ERA_2_6)
        comms = open_comms(sim, r, code, KINO__PLANT_COMMS, KINO__STR("record_param_comms"));
    r->now += POST_NS / 2;
    close_at(r, comms);
    close_at(r, op);
    int64_t ready = most(r->now + 20000, before);
    size_t work =
        add(sim, r,
            (kino__plant_event){.kind = KINO__PLANT_ANNOTATION,
                                .name = code->name,
                                .number = -1,
                                .ts = ready,
                                .thread = (uint8_t)(KINO__PLANT_GLOO_0 + r->gloo_count % 2),
                                .external = ++r->next_external});
    r->gloo_count++;
    return arrive(sim, r, code, ready, (kino__plant_post){.event = work, .shadow = SIZE_MAX});
}

static bool post_device(kino__plant_sim *sim, kino__plant_rank *r, const kino__plant_code *code)
{
    const kino__plant_shape *s = &sim->shape;
    int64_t before;
    if (!end_of(sim, r, r->last_post[code->stream], &before))
        return false;
    size_t op = open_comms(sim, r, code, KINO__PLANT_OP, code->inner);
    r->now += POST_NS / 4;
    size_t comms = SIZE_MAX;
    if (s->era != KINO__ERA_1_12 && s->era != KINO__ERA_1_8)
        comms = open_comms(sim, r, code, KINO__PLANT_COMMS, KINO__STR("record_param_comms"));
    uint32_t external = r->next_external;
    size_t work = open_comms(sim, r, code, KINO__PLANT_ANNOTATION, code->name);
    r->now += POST_NS / 4;
    int64_t ready = most(r->now + LATENCY_NS, before + STREAM_GAP_NS);
    ready = most(ready, r->stream_end[KINO__PLANT_COMPUTE] + STREAM_GAP_NS);
    kino__plant_post post = {.shadow = SIZE_MAX};
    post.event = add(sim, r,
                     (kino__plant_event){.kind = KINO__PLANT_COLLECTIVE,
                                         .stream = code->stream,
                                         .name = code->kernel,
                                         .ts = ready,
                                         .peer = code->peer,
                                         .bytes = code->number,
                                         .sequence = *next_sequence(r, code),
                                         .id = r->next_id,
                                         .external = external});
    if (s->has_comm_shadows && s->era != KINO__ERA_1_8)
        post.shadow = add(sim, r,
                          (kino__plant_event){.kind = KINO__PLANT_SHADOW,
                                              .stream = code->stream,
                                              .name = code->name,
                                              .number = -1,
                                              .ts = ready,
                                              .external = r->next_external});
    add_call(sim, r, launch_name(s, KINO__PLANT_KERNEL), CALL_NS);
    r->next_id++;
    close_at(r, work);
    close_at(r, comms);
    r->now += POST_NS / 4;
    close_at(r, op);
    return arrive(sim, r, code, ready, post);
}

static bool join(kino__plant_sim *sim, kino__plant_rank *r, const kino__plant_code *code)
{
    int64_t end;
    if (!end_of(sim, r, r->last_post[code->stream], &end))
        return false;
    r->stream_end[KINO__PLANT_COMPUTE] = most(r->stream_end[KINO__PLANT_COMPUTE], end);
    add_call(sim, r,
             sim->shape.era == KINO__ERA_ROCM ? KINO__STR("hipStreamWaitEvent")
                                              : KINO__STR("cudaStreamWaitEvent"),
             CALL_NS / 2);
    r->next_id++;
    return true;
}

static bool wait_all(kino__plant_sim *sim, kino__plant_rank *r)
{
    int64_t last, before;
    size_t count = r->posts.count;
    if (!end_of(sim, r, count ? count - 1 : SIZE_MAX, &last) ||
        !end_of(sim, r, count > 1 ? count - 2 : SIZE_MAX, &before))
        return false;
    r->now = most(r->now, most(last, before) + 30000);
    return true;
}

/* False: the rank has to wait for what others do. */
static bool run_code(kino__plant_sim *sim, kino__plant_rank *r, const kino__plant_code *code)
{
    switch ((kino__plant_verb)code->verb) {
    case KINO__VERB_OPEN:
    case KINO__VERB_PYTHON:
        open_span(sim, r, code);
        break;
    case KINO__VERB_CLOSE:
        close_span(sim, r);
        break;
    case KINO__VERB_OP:
        run_op(sim, r, code);
        break;
    case KINO__VERB_SPEND:
        r->now += vary(sim, r, code->host_ns);
        break;
    case KINO__VERB_LOSE:
        lose_processor(sim, r, code);
        break;
    case KINO__VERB_COPY:
        run_copy(sim, r, code);
        break;
    case KINO__VERB_POST:
        return sim->shape.is_cpu ? post_gloo(sim, r, code) : post_device(sim, r, code);
    case KINO__VERB_JOIN:
        return join(sim, r, code);
    case KINO__VERB_WAIT:
        return wait_all(sim, r);
    case KINO__VERB_ITEM:
        run_item(sim, r);
        break;
    case KINO__VERB_THREAD:
        r->thread = code->thread;
        r->now += 5000;
        break;
    }
    return true;
}

/* Runs until somebody else is needed; false: nothing was done. */
static bool run_rank(kino__plant_sim *sim, kino__plant_rank *r)
{
    bool has_moved = false;
    unsigned all = KINO__PLANT_WARM_UP + sim->shape.steps;
    while (r->step < all && !r->has_failed) {
        if (r->at == r->program.count) {
            if (r->program.count)
                r->step++;
            r->program.count = r->at = 0;
            if (r->step == KINO__PLANT_WARM_UP)
                r->record_ns = r->now;
            if (r->step < all)
                kino__plant_program(sim, r);
            has_moved = true;
            continue;
        }
        if (!run_code(sim, r, &r->program.items[r->at]))
            break;
        r->at++;
        has_moved = true;
    }
    return has_moved;
}

/* Collectives end when their instance does. */
static void settle(kino__plant_sim *sim, kino__plant_rank *r)
{
    for (size_t i = 0; i < r->posts.count; i++) {
        const kino__plant_post *p = &r->posts.items[i];
        int64_t end;
        if (!end_of(sim, r, i, &end))
            continue;
        if (p->event != SIZE_MAX)
            r->events.items[p->event].dur = end - r->events.items[p->event].ts;
        if (p->shadow != SIZE_MAX)
            r->events.items[p->shadow].dur = end - r->events.items[p->shadow].ts;
    }
}

static void init_rank(kino__plant_sim *sim, unsigned rank)
{
    kino__plant_rank *r = &sim->ranks[rank];
    r->rank = rank;
    r->random.state =
        sim->shape.seed * 0x9e3779b97f4a7c15u + ((uint64_t)rank << 40) + (uint64_t)sim->shape.kind;
    r->now = BEGIN_NS + kino__plant_between(&r->random, 0, 200000);
    r->next_id = 2000 + rank;
    r->next_external = 1;
    r->next_python = 1;
    for (unsigned i = 0; i < KINO__PLANT_STREAMS; i++)
        r->last_post[i] = SIZE_MAX;
}

kino_status kino__plant_run(kino__plant_sim *sim, kino_error *err)
{
    const kino__plant_shape *s = &sim->shape;
    sim->start_ns = BEGIN_NS;
    for (unsigned i = 0; i < s->ranks; i++)
        init_rank(sim, i);
    bool has_moved = true;
    while (has_moved) {
        has_moved = false;
        for (unsigned i = 0; i < s->ranks; i++)
            has_moved |= run_rank(sim, &sim->ranks[i]);
    }
    for (unsigned i = 0; i < s->ranks; i++) {
        if (sim->ranks[i].has_failed)
            return kino__fail_nomem(err);
        if (sim->ranks[i].step < KINO__PLANT_WARM_UP + s->steps)
            return kino__fail(err, KINO_ARGUMENT, "rank %u of the planted run waits forever", i);
        settle(sim, &sim->ranks[i]);
    }
    return KINO_OK;
}

void kino__plant_sim_deinit(kino__plant_sim *sim)
{
    for (unsigned i = 0; i < KINO__PLANT_MAX_RANKS; i++) {
        kino__vec_deinit(&sim->ranks[i].events);
        kino__vec_deinit(&sim->ranks[i].program);
        kino__vec_deinit(&sim->ranks[i].posts);
        kino__vec_deinit(&sim->ranks[i].starts);
    }
    for (unsigned i = 0; i < KINO__PLANT_MAX_RANKS * 4; i++)
        kino__vec_deinit(&sim->groups[i].list);
}
