/* perfetto_attributes.c - what a producer says of its trace; Kino's own files keep there what the
 * format has no place for. */
#include "base/json_out.h"
#include "reader/perfetto_internal.h"
#include "store/args.h"
#include "store/derive.h"

typedef struct attribute {
    kino_str key, text;
    int64_t number;
    bool has_text;
} attribute;

static attribute read_attribute(kino_str message)
{
    attribute a = {{"", 0}, {"", 0}, 0, false};
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 1)
            a.key = kino__proto_text(&f);
        else if (f.number == 2)
            a.number = kino__proto_int(&f);
        else if (f.number == 3) {
            a.text = kino__proto_text(&f);
            a.has_text = true;
        }
    }
    return a;
}

/* What stands behind a prefix; size 0: the key does not begin with it. */
static kino_str behind(kino_str key, const char *prefix)
{
    kino_str p = kino__str_from(prefix);
    if (!kino__str_starts_with(key, p))
        return (kino_str){"", 0};
    return (kino_str){key.data + p.size, key.size - p.size};
}

/* "kino.flow.name" and "kino.flow.category" come in turn, for one kind after the other. */
static void add_flow_name(kino__perfetto *p, kino_str what, kino_str text)
{
    enum { NAMES_MOST = 256 };
    kino_strid id = kino__event_builder_text(&p->events, text);
    if (kino__str_is(what, "name") && p->flow_names.count < NAMES_MOST) {
        kino__perfetto_flow_name *name = kino__vec_add(&p->flow_names);
        p->failed |= !name;
        if (name)
            *name =
                (kino__perfetto_flow_name){text.size ? id : KINO_NO_STRING, KINO__CATEGORY_NONE};
    } else if (kino__str_is(what, "category") && p->flow_names.count) {
        p->flow_names.items[p->flow_names.count - 1].category =
            kino__event_builder_category(&p->events, id);
    }
}

/* What stands behind "kino.pid." is the uuid of a track, and the value its label as JSON. */
static void add_label(kino__perfetto *p, kino_str uuid_text, kino_str json, bool is_pid)
{
    uint64_t uuid = 0;
    kino__label label = {KINO__LABEL_NONE, KINO_NO_STRING, 0};
    for (size_t i = 0; i < uuid_text.size; i++)
        uuid = uuid * 10 + (uint64_t)(uuid_text.data[i] - '0');
    uint32_t number = kino__perfetto_track_of(p, uuid);
    if (p->failed)
        return;
    if (json.size && json.data[0] == '"') {
        p->scratch.size = 0;
        kino__json_unescape(json, &p->scratch);
        label.kind = KINO__LABEL_TEXT;
        label.text = kino__event_builder_text(&p->events, kino__buffer_str(&p->scratch));
    } else if (kino__str_to_int(json, &label.number)) {
        label.kind = KINO__LABEL_INT;
    }
    kino__perfetto_track *track = &p->tracks.items.items[number];
    *(is_pid ? &track->own_pid : &track->own_tid) = label;
    *(is_pid ? &track->has_own_pid : &track->has_own_tid) = true;
}

static bool add_key(kino__perfetto *p, kino_str key, const attribute *a)
{
    kino__json json = {.out = &p->scratch};
    p->scratch.size = 0;
    if (a->has_text)
        kino__json_string(&json, a->text);
    else
        kino__json_int(&json, a->number);
    return kino__trace_add_metadata(p->trace, key, kino__buffer_str(&p->scratch));
}

static void take_attribute(kino__perfetto *p, const attribute *a)
{
    kino_str key = behind(a->key, "kino.key."), flow = behind(a->key, "kino.flow.");
    kino_str own = behind(a->key, "kino."), pid = behind(own, "pid."), tid = behind(own, "tid.");
    bool ok = true;
    if (kino__str_is(own, "version"))
        p->is_from_kino = true;
    else if (key.size && kino__json_is_valid(a->text))
        ok = kino__trace_add_metadata(p->trace, key, a->text);
    else if (flow.size)
        add_flow_name(p, flow, a->text);
    else if (pid.size || tid.size)
        add_label(p, pid.size ? pid : tid, a->text, pid.size != 0);
    else if (kino__str_is(own, "shift"))
        ok = kino__str_to_int(a->text, &p->shift);
    else if (!own.size && a->key.size)
        ok = add_key(p, a->key, a);
    if (!ok)
        kino__ledger_add(p->ledger, KINO__DAMAGE_BROKEN_METADATA, p->offset);
}

void kino__perfetto_attributes(kino__perfetto *p, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f) && !p->failed) {
        if (f.number != 1)
            continue;
        attribute a = read_attribute(kino__proto_text(&f));
        take_attribute(p, &a);
    }
}
