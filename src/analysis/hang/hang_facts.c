/* hang_facts.c - reads dumps, one trace each, and puts them together. */
#include "analysis/hang/hang_facts.h"

#include <ctype.h>

#include "base/error.h"
#include "store/args.h"

const kino__hang_rank *kino__hang_rank_of(const kino__hang_facts *f, int64_t rank)
{
    for (size_t i = 0; i < f->ranks.count; i++)
        if (f->ranks.items[i].rank == rank)
            return &f->ranks.items[i];
    return NULL;
}

const kino__hang_group *kino__hang_group_of(const kino__hang_facts *f, kino_strid name)
{
    for (size_t i = 0; i < f->groups.count; i++)
        if (f->groups.items[i].name == name)
            return &f->groups.items[i];
    return NULL;
}

/* -- one entry -- */

/* What stands between the quotes of a text; the value itself when it is none. */
static kino_str unquote(kino_str value)
{
    if (value.size >= 2 && value.data[0] == '"')
        return (kino_str){value.data + 1, value.size - 2};
    return value;
}

static int64_t to_int(kino_str value)
{
    int64_t number;
    return kino__str_to_int(value, &number) ? number : KINO_NO_INT;
}

static const char *read_rank(const char *at, const char *end, int64_t *rank)
{
    *rank = KINO_NO_INT;
    for (; at < end && isdigit((unsigned char)*at); at++)
        *rank = *rank == KINO_NO_INT ? *at - '0'
                                     : (*rank < INT32_MAX ? *rank * 10 + (*at - '0') : *rank);
    return at;
}

/* "nccl:send 0->3" and "nccl:recv 3<-0": from and to, as ranks within the group. */
static void read_pair(kino_str name, kino__hang_entry *e)
{
    const char *blank = memchr(name.data, ' ', name.size), *end = name.data + name.size;
    int64_t left, right;
    if (!blank)
        return;
    const char *arrow = read_rank(blank + 1, end, &left);
    if (end - arrow < 3)
        return;
    bool is_send = memcmp(arrow, "->", 2) == 0, is_receive = memcmp(arrow, "<-", 2) == 0;
    (void)read_rank(arrow + 2, end, &right);
    if (left == KINO_NO_INT || right == KINO_NO_INT || (!is_send && !is_receive))
        return;
    e->from = is_send ? left : right;
    e->to = is_send ? right : left;
}

/* Gloo never says that something has ended, but takes it off its list. */
static uint32_t state_of(kino_str name, kino_str state, kino_str retired)
{
    if (kino__str_is(state, "completed"))
        return KINO__HANG_DONE;
    if (kino__str_starts_with(name, KINO__STR("gloo:")) && kino__str_is(retired, "true"))
        return KINO__HANG_DONE;
    return kino__str_is(state, "started") ? KINO__HANG_STARTED : KINO__HANG_SCHEDULED;
}

/* Sizes and types, which must be the same on all ranks of most collectives. */
static kino_strid add_shape(kino__hang_facts *f, kino_str args)
{
    kino__buffer text = {0};
    kino_str sizes = kino__args_find(args, KINO__STR("Input sizes"));
    kino_str dtype = unquote(kino__args_find(args, KINO__STR("dtype")));
    if (sizes.size)
        kino__buffer_printf(&text, "%.*s %.*s", KINO__STR_ARG(sizes), KINO__STR_ARG(dtype));
    kino_strid id =
        text.failed ? KINO_NO_STRING : kino__string_pool_add(&f->texts, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
    return id;
}

static kino_strid add_value(kino__hang_facts *f, kino_str args, const char *key)
{
    return kino__string_pool_add(&f->texts, unquote(kino__args_find(args, kino__str_from(key))));
}

static bool add_entry(kino__hang_facts *f, const kino__trace *trace, uint32_t row, kino_str args)
{
    kino_str name = kino__trace_string(trace, trace->name[row]);
    kino__hang_entry e = {.rank = trace->rank,
                          .seq = to_int(kino__args_find(args, KINO__STR("Seq"))),
                          .created = trace->ts[row],
                          .from = KINO_NO_INT,
                          .to = KINO_NO_INT,
                          .group = add_value(f, args, "Process Group Name"),
                          .operation = add_value(f, args, "Collective name"),
                          .shape = add_shape(f, args),
                          .source = add_value(f, args, "Source")};
    if (kino__str_is(kino__args_find(args, KINO__STR("Is P2P")), "true"))
        read_pair(name, &e);
    e.state = state_of(name, unquote(kino__args_find(args, KINO__STR("State"))),
                       kino__args_find(args, KINO__STR("Retired")));
    bool has_texts = e.group != KINO_NO_STRING && e.operation != KINO_NO_STRING &&
                     e.shape != KINO_NO_STRING && e.source != KINO_NO_STRING;
    kino__hang_entry *slot = has_texts ? kino__vec_add(&f->entries) : NULL;
    if (slot)
        *slot = e;
    return slot != NULL;
}

/* -- groups -- */

/* The numbers of "[0, 1, 2]". */
static bool add_members(kino__hang_facts *f, kino__hang_group *g, kino_str ranks)
{
    g->first = (uint32_t)f->members.count;
    for (size_t i = 0; i < ranks.size;) {
        int64_t number = 0;
        if (!isdigit((unsigned char)ranks.data[i])) {
            i++;
            continue;
        }
        for (; i < ranks.size && isdigit((unsigned char)ranks.data[i]); i++)
            number = number < INT32_MAX ? number * 10 + (ranks.data[i] - '0') : number;
        int64_t *slot = kino__vec_add(&f->members);
        if (!slot)
            return false;
        *slot = number;
    }
    g->count = (uint32_t)f->members.count - g->first;
    return true;
}

static bool add_group(kino__hang_facts *f, kino_strid name, kino_str args)
{
    if (kino__hang_group_of(f, name))
        return true;
    kino__hang_group *g = kino__vec_add(&f->groups);
    if (!g)
        return false;
    *g = (kino__hang_group){.name = name,
                            .description = add_value(f, args, "Process Group Description")};
    return g->description != KINO_NO_STRING &&
           add_members(f, g, kino__args_find(args, KINO__STR("Process Group Ranks")));
}

/* -- a trace -- */

static bool is_dump(const kino__trace *trace)
{
    return kino__trace_metadata(trace, "flightRecorder").size > 0;
}

static bool read_row(kino__hang_facts *f, const kino__trace *trace, uint32_t row, kino_str args,
                     kino__hang_rank *rank)
{
    int64_t record = to_int(kino__args_find(args, KINO__STR("Record id")));
    if (record != KINO_NO_INT && (rank->first_record < 0 || record < rank->first_record))
        rank->first_record = record;
    return add_entry(f, trace, row, args) &&
           add_group(f, f->entries.items[f->entries.count - 1].group, args);
}

kino_status kino__hang_map(const kino__analysis *a, const kino__trace *trace, void *partial,
                           kino_error *err)
{
    (void)a;
    kino__hang_facts *f = partial;
    if (!is_dump(trace))
        return KINO_OK;
    f->dumps = 1;
    f->unnamed = trace->rank == KINO_NO_INT;
    if (f->unnamed)
        return KINO_OK;
    kino__hang_rank rank = {trace->rank, -1};
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    bool ok = true;
    for (uint32_t row = 0; row < trace->event_count && ok; row++)
        if (trace->category[row] == KINO__CATEGORY_COLLECTIVE_COMM &&
            trace->name[row] != KINO_NO_STRING)
            ok = read_row(f, trace, row, kino__args_text(trace, row, &cursor), &rank);
    kino__text_cursor_deinit(&cursor);
    kino__hang_rank *slot = ok ? kino__vec_add(&f->ranks) : NULL;
    if (!slot)
        return kino__fail_nomem(err);
    *slot = rank;
    return KINO_OK;
}

/* -- several -- */

static bool move_text(kino__hang_facts *f, const kino__hang_facts *from, kino_strid *text)
{
    *text = kino__string_pool_add(&f->texts, kino__hang_text(from, *text));
    return *text != KINO_NO_STRING;
}

static bool move_entries(kino__hang_facts *f, const kino__hang_facts *from)
{
    int64_t rank = KINO_NO_INT;
    bool is_repeated = false;
    for (size_t i = 0; i < from->entries.count; i++) {
        kino__hang_entry e = from->entries.items[i];
        if (e.rank != rank) {
            rank = e.rank;
            is_repeated = kino__hang_rank_of(f, rank) != NULL;
        }
        if (is_repeated)
            continue; /* the dump that came first counts */
        kino__hang_entry *slot = move_text(f, from, &e.group) && move_text(f, from, &e.operation) &&
                                         move_text(f, from, &e.shape) &&
                                         move_text(f, from, &e.source)
                                     ? kino__vec_add(&f->entries)
                                     : NULL;
        if (!slot)
            return false;
        *slot = e;
    }
    return true;
}

/* Who is in a group is known from any rank that says it. */
static bool move_groups(kino__hang_facts *f, const kino__hang_facts *from)
{
    for (size_t i = 0; i < from->groups.count; i++) {
        kino__hang_group g = from->groups.items[i];
        if (!move_text(f, from, &g.name) || !move_text(f, from, &g.description))
            return false;
        size_t at = 0;
        while (at < f->groups.count && f->groups.items[at].name != g.name)
            at++;
        if (at < f->groups.count && f->groups.items[at].count)
            continue;
        kino__hang_group *slot =
            at < f->groups.count ? &f->groups.items[at] : kino__vec_add(&f->groups);
        if (!slot || !kino__vec_reserve(&f->members, g.count))
            return false;
        uint32_t first = (uint32_t)f->members.count;
        for (uint32_t k = 0; k < g.count; k++)
            f->members.items[f->members.count++] = from->members.items[g.first + k];
        g.first = first;
        *slot = g;
    }
    return true;
}

kino_status kino__hang_merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    kino__hang_facts *f = into, *more = from;
    bool ok = move_groups(f, more) && move_entries(f, more);
    for (size_t i = 0; i < more->ranks.count && ok; i++) {
        bool is_new = !kino__hang_rank_of(f, more->ranks.items[i].rank);
        kino__hang_rank *slot = is_new ? kino__vec_add(&f->ranks) : NULL;
        f->repeated += !is_new;
        ok = !is_new || slot;
        if (slot)
            *slot = more->ranks.items[i];
    }
    f->dumps += more->dumps;
    f->unnamed += more->unnamed;
    f->repeated += more->repeated;
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- bytes -- */

static void pack_entry(kino__pack *pack, kino__hang_entry *e)
{
    int64_t *const numbers[] = {&e->rank, &e->seq, &e->from, &e->to};
    uint32_t *const small[] = {&e->group, &e->operation, &e->shape, &e->source, &e->state};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        kino__pack_int(pack, numbers[i]);
    kino__pack_time(pack, &e->created);
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        kino__pack_u32(pack, small[i]);
}

static void pack_rank(kino__pack *pack, kino__hang_rank *r)
{
    KINO__PACK(pack, &r->rank, &r->first_record);
}

static void pack_group(kino__pack *pack, kino__hang_group *g)
{
    KINO__PACK(pack, &g->name, &g->description, &g->first, &g->count);
}

/* Texts, members and groups that are named must be there. */
static bool is_sound(const kino__hang_facts *f)
{
    size_t texts = kino__string_pool_count(&f->texts);
    bool is_sound = true;
    kino_strid known = KINO_NO_STRING; /* group */
    for (size_t i = 0; i < f->groups.count; i++) {
        const kino__hang_group *g = &f->groups.items[i];
        is_sound &= g->name < texts && g->description < texts && g->first <= f->members.count &&
                    g->count <= f->members.count - g->first;
    }
    for (size_t i = 0; i < f->entries.count; i++) {
        const kino__hang_entry *e = &f->entries.items[i];
        is_sound &= e->group < texts && e->operation < texts && e->shape < texts &&
                    e->source < texts && e->state <= KINO__HANG_DONE &&
                    (e->group == known || kino__hang_group_of(f, e->group));
        known = e->group;
    }
    return is_sound;
}

void kino__hang_pack(kino__pack *pack, void *partial)
{
    kino__hang_facts *f = partial;
    kino__pack_pool(pack, &f->texts);
    KINO__PACK_VEC(pack, &f->entries, pack_entry);
    KINO__PACK_VEC(pack, &f->ranks, pack_rank);
    KINO__PACK_VEC(pack, &f->groups, pack_group);
    KINO__PACK_VEC(pack, &f->members, kino__pack_int);
    KINO__PACK_TALLIES(pack, &f->dumps, &f->unnamed, &f->repeated);
    if (!pack->out && !is_sound(f))
        pack->is_damaged = true;
}

void kino__hang_deinit(void *partial)
{
    kino__hang_facts *f = partial;
    kino__string_pool_deinit(&f->texts);
    kino__vec_deinit(&f->entries);
    kino__vec_deinit(&f->ranks);
    kino__vec_deinit(&f->groups);
    kino__vec_deinit(&f->members);
}
