/* perfetto_legacy.c - events of Chrome's older kind, which Perfetto's files carry inside
 * TrackEvents: their phase is the letter of Chrome's JSON. */
#include "reader/perfetto_internal.h"

typedef struct legacy {
    uint64_t phase, name_iid, id, scope, direction, duration_us;
    bool has_id, has_duration, binds_enclosing;
    int64_t pid, tid;
} legacy;

static legacy read_legacy(kino_str message)
{
    legacy l = {.pid = KINO_NO_INT, .tid = KINO_NO_INT};
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        uint64_t number = kino__proto_uint(&f);
        switch (f.number) {
        case 1:
            l.name_iid = number;
            break;
        case 2:
            l.phase = number;
            break;
        case 3:
            l.duration_us = number;
            l.has_duration = true;
            break;
        case 6:
        case 10:
        case 11:
            l.id = number;
            l.has_id = true;
            break;
        case 12:
            l.binds_enclosing = number != 0;
            break;
        case 14:
            l.scope = number;
            break;
        case 18:
            l.pid = (int32_t)number;
            break;
        case 19:
            l.tid = (int64_t)number;
            break;
        default:
            break;
        }
    }
    return l;
}

static bool is_known(uint64_t phase)
{
    return phase < 0x7f && phase && strchr("bneSTpFstfMC", (int)phase);
}

static bool set_phase(kino__perfetto *p, kino__perfetto_event *event, const legacy *l)
{
    event->lacks_category = false;
    if (l->phase == 'B') {
        event->phase = KINO__PERFETTO_BEGIN;
    } else if (l->phase == 'E') {
        event->phase = KINO__PERFETTO_END;
    } else if (l->phase == 'X') {
        event->phase = KINO__PERFETTO_COMPLETE;
        if (!l->has_duration || l->duration_us > INT64_MAX / 1000)
            event->dur = KINO_NO_TIME;
        else
            event->dur = (int64_t)l->duration_us * 1000;
    } else if (l->phase == 'i' || l->phase == 'I' || l->phase == 'R') {
        static const uint8_t scopes[] = {1, 3, 2, 1}; /* thread, global, process, thread */
        event->phase = KINO__PERFETTO_OTHER;
        event->letter = 'i';
        event->flags |= (uint8_t)(scopes[l->scope < 4 ? l->scope : 0] << KINO__FLAG_SCOPE_SHIFT);
    } else if (is_known(l->phase)) {
        event->phase = KINO__PERFETTO_OTHER;
        event->letter = (uint8_t)l->phase;
        event->flags |= l->binds_enclosing ? KINO__FLAG_BP : 0;
    } else {
        kino__ledger_add(p->ledger, KINO__DAMAGE_NO_PHASE, p->offset);
        return false;
    }
    return true;
}

bool kino__perfetto_legacy_event(kino__perfetto *p, kino__perfetto_sequence *s,
                                 kino__perfetto_event *event, kino_str message)
{
    legacy l = read_legacy(message);
    if (l.name_iid && event->name == KINO_NO_STRING)
        event->name = kino__perfetto_interned_text(p, s, KINO__PERFETTO_NAME, l.name_iid);
    if (l.has_id && l.id <= INT64_MAX)
        event->bind = (int64_t)l.id;
    if (l.pid != KINO_NO_INT || l.tid != KINO_NO_INT) {
        int64_t pid = l.pid != KINO_NO_INT ? l.pid : s->pid;
        int64_t tid = l.tid != KINO_NO_INT ? l.tid : s->tid;
        event->track = kino__perfetto_track_of_thread(p, pid, tid);
    }
    return l.phase ? set_phase(p, event, &l) : event->phase != 0;
}
