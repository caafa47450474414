/* verdict_facts.c - what a trace gives to the verdict on stragglers: integers that merge. */
#include <stdlib.h>

#include "analysis/distributed/distributed.h"
#include "analysis/verdict/verdict.h"
#include "analysis/verdict/verdict_places.h"
#include "names/communication.h"
#include "store/args.h"
#include "store/run.h"

static kino__verdict_step step_of(const kino__profile_step *s)
{
    const int64_t *cost = s->cost;
    return (kino__verdict_step){
        .number = s->number,
        .total = s->end - s->start,
        .exposed = cost[KINO__ROLE_COMMUNICATION],
        .part = {[KINO__SLOW_KERNELS] = cost[KINO__ROLE_KERNEL],
                 [KINO__SLOW_LOADER] = cost[KINO__ROLE_LOADER],
                 [KINO__SLOW_COPIES] = cost[KINO__ROLE_MEMCPY] + cost[KINO__ROLE_MEMSET],
                 [KINO__SLOW_HOST] =
                     cost[KINO__ROLE_RUNTIME] + cost[KINO__ROLE_CPU] + cost[KINO__ROLE_OTHER]}};
}

/* Reads what calls say of themselves. */
typedef struct calls {
    const kino__profile *profile;
    kino__string_pool texts;
    kino__text_cursor cursor;
    bool has_spans; /* collectives have spans of the host, which say what they are */
} calls;

static bool is_comm_operator(const kino__profile *p, kino_strid name)
{
    return name != KINO_NO_STRING &&
           p->name_flags[name] & (KINO__NAME_COMM_CALL | KINO__NAME_COLLECTIVE);
}

/* The operator that launched a communication kernel; "": none is known, or it is no kernel. */
static kino_str operator_of(const kino__profile *p, uint32_t kernel)
{
    size_t i = kino__profile_kernel_at(p, kernel);
    bool is_kernel = i < p->kernels.count && p->kernels.items[i].row == kernel;
    uint32_t node = is_kernel ? p->kernels.items[i].node : KINO__NO_NODE;
    for (; node != KINO__NO_NODE; node = p->nodes.items[node].parent) {
        kino_strid name = kino__node_name_id(p, &p->nodes.items[node]);
        if (is_comm_operator(p, name) &&
            kino__comm_operation_of(kino__trace_string(p->trace, name)))
            return kino__trace_string(p->trace, name);
    }
    return (kino_str){"", 0};
}

static bool is_kernel_alone(const kino__profile *p, const kino__comm_record *r)
{
    return p->type[r->row] == KINO__EVENT_TYPE_KERNEL;
}

/* Is it a send or a receive? Kernels of some libraries have one name for all that they do, and
 * NCCL's for all-to-all is SendRecv: what the arguments or the operator say goes before it, and a
 * single kernel that nothing speaks of does not make a pipeline. */
static bool is_point_to_point(calls *c, const kino__comm_record *r, const kino__dist_call *call)
{
    const kino__profile *p = c->profile;
    if (call->name != KINO_NO_STRING)
        return kino__comm_is_point_to_point(kino__string_pool_text(&c->texts, call->name));
    kino_str by = operator_of(p, r->kernel == KINO_NO_ROW ? r->row : r->kernel);
    if (by.size == 0 && is_kernel_alone(p, r) && c->has_spans)
        return false;
    return kino__comm_is_point_to_point(by.size ? by : kino__trace_string(p->trace, r->name));
}

static bool read_call(calls *c, const kino__comm_record *r, kino__dist_call *out)
{
    uint32_t row = r->kernel == KINO_NO_ROW ? r->row : r->kernel;
    return kino__dist_read_call(c->profile->trace, r->row, row, false, &c->texts, &c->cursor, out);
}

/* Is there a call or a span that sends or receives? Only operators count: a sampled stack has
 * functions like c10d::detail::TCPClient::sendRaw, too. False when memory is out. */
static bool find_point_to_point(calls *c, bool *out)
{
    const kino__profile *p = c->profile;
    bool ok = true;
    for (size_t i = 0; i < p->nodes.count && !*out; i++) {
        kino_strid name = kino__node_name_id(p, &p->nodes.items[i]);
        *out = is_comm_operator(p, name) &&
               kino__comm_is_point_to_point(kino__trace_string(p->trace, name));
    }
    for (size_t i = 0; ok && i < p->comm.count && !*out; i++) {
        const kino__comm_record *r = &p->comm.items[i];
        kino__dist_call call;
        if (!kino__comm_is_point_to_point(kino__trace_string(p->trace, r->name)))
            continue;
        ok = read_call(c, r, &call);
        *out = ok && is_point_to_point(c, r, &call);
    }
    return ok;
}

static bool add_group(kino__verdict_facts *facts, size_t first, kino_str text)
{
    kino_strid id = kino__string_pool_add(&facts->texts, text);
    for (size_t i = first; i < facts->groups.count && id != KINO_NO_STRING; i++)
        if (facts->groups.items[i] == id)
            return true;
    kino_strid *slot = id == KINO_NO_STRING ? NULL : kino__vec_add(&facts->groups);
    if (slot)
        *slot = id;
    return slot != NULL;
}

/* Process groups that this rank has collectives in. */
static bool add_groups(kino__verdict_facts *facts, calls *c)
{
    const kino__profile *p = c->profile;
    size_t first = facts->groups.count;
    bool ok = true;
    for (size_t i = 0; ok && i < p->comm.count; i++) {
        kino__dist_call call;
        ok = read_call(c, &p->comm.items[i], &call);
        if (ok && call.group != KINO_NO_STRING && !is_point_to_point(c, &p->comm.items[i], &call))
            ok = add_group(facts, first, kino__string_pool_text(&c->texts, call.group));
    }
    return ok;
}

static bool take_number(kino_str *text, int64_t *out)
{
    size_t digits = 0;
    while (digits < text->size && text->data[digits] >= '0' && text->data[digits] <= '9')
        digits++;
    kino_str number = {text->data, digits};
    *text = (kino_str){text->data + digits, text->size - digits};
    return digits > 0 && kino__str_to_int(number, out);
}

/* "nccl:send 0->1", "nccl:recv 1<-0": PyTorch's names of sends and receives. */
static bool read_peers(kino_str name, int64_t *self, int64_t *peer, bool *is_receive)
{
    const char *blank = memchr(name.data, ' ', name.size);
    if (!blank)
        return false;
    kino_str rest = {blank + 1, name.size - (size_t)(blank + 1 - name.data)};
    if (!take_number(&rest, self) || rest.size < 3)
        return false;
    *is_receive = rest.data[0] == '<' && rest.data[1] == '-';
    bool is_send = rest.data[0] == '-' && rest.data[1] == '>';
    rest = (kino_str){rest.data + 2, rest.size - 2};
    return (*is_receive || is_send) && take_number(&rest, peer);
}

/* The first thing that a stage of a pipeline does is to receive from the stage before; the first
 * stage sends. */
static void find_source(const kino__profile *p, kino__verdict_rank *rank)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < p->comm.count; i++) {
        const kino__comm_record *r = &p->comm.items[i];
        int64_t self, peer;
        bool is_receive;
        kino_str name = kino__trace_string(p->trace, r->name);
        if (p->trace->ts[r->row] >= first || !kino__comm_is_point_to_point(name) ||
            !read_peers(name, &self, &peer, &is_receive))
            continue;
        first = p->trace->ts[r->row];
        rank->self = self;
        rank->source = is_receive ? peer : KINO_NO_INT;
    }
}

/* Whom it talks to, where it sends or receives: a pipeline. False when memory is out. */
static bool add_peers(kino__verdict_facts *facts, const kino__profile *p, kino__verdict_rank *rank)
{
    calls c = {.profile = p};
    kino__text_cursor_init(&c.cursor, p->trace->text);
    for (size_t i = 0; i < p->comm.count && !c.has_spans; i++)
        c.has_spans = !is_kernel_alone(p, &p->comm.items[i]);
    bool ok = find_point_to_point(&c, &rank->has_peer_to_peer);
    if (rank->has_peer_to_peer)
        find_source(p, rank);
    ok = ok && (!rank->has_peer_to_peer || add_groups(facts, &c));
    kino__text_cursor_deinit(&c.cursor);
    kino__string_pool_deinit(&c.texts);
    return ok;
}

/* Of a single rank nothing is compared. */
static bool is_alone(const kino__trace *trace)
{
    const kino__run *run = trace->run ? kino__run_of_ranks(trace->run) : NULL;
    return run && trace->run->steps_as == KINO__STEPS_AS_THEY_ARE && run->traces.count < 2 &&
           run->whole.ranks < 2;
}

static bool add_places(kino__verdict_facts *facts, const kino__profile *p)
{
    const kino__places *found = is_alone(p->trace) ? NULL : kino__places_of(p);
    for (size_t i = 0; found && i < found->items.count; i++) {
        const kino__named_place *from = &found->items.items[i];
        kino__verdict_place place = from->place;
        place.name = kino__string_pool_add(&facts->texts, from->name);
        place.shape = kino__string_pool_add(&facts->texts, from->shape);
        kino__verdict_place *slot = kino__vec_add(&facts->places);
        if (!slot || place.name == KINO_NO_STRING || place.shape == KINO_NO_STRING)
            return false;
        *slot = place;
    }
    return found || is_alone(p->trace);
}

bool kino__verdict_add(kino__verdict_facts *facts, const kino__profile *p)
{
    size_t steps = facts->steps.count, groups = facts->groups.count;
    size_t places = facts->places.count;
    kino__verdict_rank rank = {.rank = p->trace->rank,
                               .trace = p->trace->index,
                               .first_step = KINO_NO_INT,
                               .world_size = p->trace->world_size,
                               .self = KINO_NO_INT,
                               .source = KINO_NO_INT,
                               .has_steps = p->has_step_events};
    for (size_t i = 0; i < p->steps.count; i++) {
        kino__verdict_step *slot = kino__vec_add(&facts->steps);
        if (!slot)
            return false;
        *slot = step_of(&p->steps.items[i]);
        rank.communication = kino__sum(rank.communication, p->steps.items[i].communication);
    }
    if (p->has_kernel && p->has_runtime && p->steps.count &&
        !kino__verdict_find_hosts(p, facts->steps.items + steps))
        return false;
    if (p->steps.count && p->steps.items[0].row != KINO_NO_ROW)
        rank.first_step = kino__trace_event_id(p->trace, p->steps.items[0].row);
    if (!add_peers(facts, p, &rank) || !add_places(facts, p))
        return false;
    rank.step_count = (uint32_t)(facts->steps.count - steps);
    rank.group_count = (uint32_t)(facts->groups.count - groups);
    rank.place_count = (uint32_t)(facts->places.count - places);
    kino__verdict_rank *slot = kino__vec_add(&facts->ranks);
    if (slot)
        *slot = rank;
    return slot != NULL;
}

static bool merge_groups(kino__verdict_facts *into, const kino__verdict_facts *from,
                         const kino_strid *numbers)
{
    for (size_t i = 0; i < from->groups.count; i++) {
        kino_strid *slot = kino__vec_add(&into->groups);
        if (!slot)
            return false;
        *slot = numbers[from->groups.items[i]];
    }
    for (size_t i = 0; i < from->places.count; i++) {
        kino__verdict_place *slot = kino__vec_add(&into->places);
        if (!slot)
            return false;
        *slot = from->places.items[i];
        slot->name = numbers[slot->name];
        slot->shape = numbers[slot->shape];
    }
    return true;
}

bool kino__verdict_merge(kino__verdict_facts *into, const kino__verdict_facts *from)
{
    size_t count = kino__string_pool_count(&from->texts);
    kino_strid *numbers = malloc((count + 1) * sizeof *numbers);
    bool ok = numbers && kino__vec_append(&into->ranks, &from->ranks) &&
              kino__vec_append(&into->steps, &from->steps);
    for (kino_strid i = 0; ok && i < count; i++) {
        numbers[i] = kino__string_pool_add(&into->texts, kino__string_pool_text(&from->texts, i));
        ok = numbers[i] != KINO_NO_STRING;
    }
    ok = ok && merge_groups(into, from, numbers);
    free(numbers);
    return ok;
}

static void pack_step(kino__pack *pack, kino__verdict_step *s)
{
    KINO__PACK(pack, &s->number, &s->total, &s->exposed, &s->is_host_bound);
    for (int i = 0; i < KINO__SLOW_CAUSES; i++)
        kino__pack_int(pack, &s->part[i]);
}

static void pack_rank(kino__pack *pack, kino__verdict_rank *r)
{
    KINO__PACK(pack, &r->rank, &r->world_size, &r->communication, &r->self, &r->source,
               &r->step_count, &r->group_count, &r->place_count, &r->has_steps,
               &r->has_peer_to_peer);
    kino__pack_trace(pack, &r->trace);
    KINO__PACK_EVENTS(pack, &r->first_step);
}

static void pack_place(kino__pack *pack, kino__verdict_place *p)
{
    uint32_t kind = p->kind, cause = p->cause;
    KINO__PACK(pack, &p->name, &p->shape, &kind, &cause, &p->time, &p->calls, &p->offset,
               &p->longest);
    KINO__PACK_EVENTS(pack, &p->event);
    if (kind >= KINO__PLACES || cause >= KINO__SLOW_CAUSES)
        pack->is_damaged = true;
    p->kind = (uint8_t)kind;
    p->cause = (uint8_t)cause;
}

/* Times of a real trace are far from the limits: differences of these cannot go over. */
static bool is_time(int64_t value)
{
    return value > INT64_MIN / 8 && value < INT64_MAX / 8;
}

static bool is_sound_place(const kino__verdict_facts *facts, const kino__verdict_place *p)
{
    size_t texts = kino__string_pool_count(&facts->texts);
    return p->name < texts && p->shape < texts && is_time(p->time) && p->time >= 0 && p->calls >= 0;
}

static bool are_sound(const kino__verdict_facts *facts)
{
    uint64_t steps = 0, groups = 0, places = 0;
    for (size_t i = 0; i < facts->ranks.count; i++) {
        steps += facts->ranks.items[i].step_count;
        groups += facts->ranks.items[i].group_count;
        places += facts->ranks.items[i].place_count;
    }
    for (size_t i = 0; i < facts->places.count; i++)
        if (!is_sound_place(facts, &facts->places.items[i]))
            return false;
    for (size_t i = 0; i < facts->groups.count; i++)
        if (facts->groups.items[i] >= kino__string_pool_count(&facts->texts))
            return false;
    for (size_t i = 0; i < facts->steps.count; i++) {
        const kino__verdict_step *s = &facts->steps.items[i];
        bool is_sound = is_time(s->total) && is_time(s->exposed);
        for (int k = 0; k < KINO__SLOW_CAUSES; k++)
            is_sound &= is_time(s->part[k]);
        if (!is_sound)
            return false;
    }
    return steps == facts->steps.count && groups == facts->groups.count &&
           places == facts->places.count;
}

void kino__verdict_pack(kino__pack *pack, kino__verdict_facts *facts)
{
    kino__pack_pool(pack, &facts->texts);
    KINO__PACK_VEC(pack, &facts->ranks, pack_rank);
    KINO__PACK_VEC(pack, &facts->steps, pack_step);
    KINO__PACK_VEC(pack, &facts->groups, kino__pack_u32);
    KINO__PACK_VEC(pack, &facts->places, pack_place);
    if (!are_sound(facts))
        pack->is_damaged = true;
}

void kino__verdict_facts_deinit(kino__verdict_facts *facts)
{
    kino__string_pool_deinit(&facts->texts);
    kino__vec_deinit(&facts->ranks);
    kino__vec_deinit(&facts->steps);
    kino__vec_deinit(&facts->groups);
    kino__vec_deinit(&facts->places);
}
