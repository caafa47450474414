/* completeness.c - is the trace complete and valid? What was dropped, repaired, unmatched, out of
 * order, or is not there at all: per rank and kind. `kino check` shows it.
 *
 * Method: each trace is checked by itself (completeness_scan.c); here the traces are set beside
 * each other, which shows missing and double ranks, and everything becomes rows. A check that had
 * nothing to look at is not available, with its reason: never 0. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/columns.h"
#include "analysis/completeness/completeness_internal.h"
#include "base/error.h"

typedef struct partial {
    KINO__VEC(kino__trace_check) traces;
    kino__losses losses;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->traces);
    kino__vec_deinit(&p->losses);
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    (void)a;
    partial *p = value;
    kino__trace_check *check = kino__vec_add(&p->traces);
    if (!check || !kino__completeness_losses(trace, &p->losses))
        return kino__fail_nomem(err);
    return kino__completeness_scan(trace, check, err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_append(&p->traces, &more->traces) ||
        !kino__vec_append(&p->losses, &more->losses))
        return kino__fail_nomem(err);
    return KINO_OK;
}

/* -- saving -- */

static void pack_finding(kino__pack *pack, kino__check_finding *f)
{
    KINO__PACK(pack, &f->count, &f->of, &f->reason, &f->place_count);
    if (f->place_count > KINO__FINDING_PLACES || f->reason >= KINO__REASON_COUNT) {
        pack->is_damaged = true;
        *f = (kino__check_finding){0};
    }
    for (uint32_t i = 0; i < f->place_count; i++)
        kino__pack_event(pack, &f->places[i]);
}

static void pack_check(kino__pack *pack, kino__trace_check *check)
{
    KINO__PACK(pack, &check->rank, &check->world_size);
    kino__pack_trace(pack, &check->trace);
    for (int d = 0; d < KINO__DAMAGE_COUNT; d++) {
        kino__pack_u64(pack, &check->ledger.count[d]);
        pack->is_damaged |= check->ledger.count[d] > INT64_MAX;
        for (uint64_t i = 0; i < check->ledger.count[d] && i < KINO__LEDGER_PLACES; i++)
            kino__pack_u64(pack, &check->ledger.first[d][i]);
    }
    for (int i = 0; i < KINO__FINDING_COUNT; i++)
        pack_finding(pack, &check->findings[i]);
}

static void pack_loss(kino__pack *pack, kino__loss *loss)
{
    KINO__PACK(pack, &loss->rank, &loss->tid, &loss->count, &loss->reason);
    kino__pack_trace(pack, &loss->trace);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    uint32_t kinds = KINO__DAMAGE_COUNT << 16 | KINO__FINDING_COUNT; /* of this version */
    kino__pack_u32(pack, &kinds);
    if (kinds != (KINO__DAMAGE_COUNT << 16 | KINO__FINDING_COUNT)) {
        pack->is_damaged = true;
        return;
    }
    KINO__PACK_VEC(pack, &p->traces, pack_check);
    KINO__PACK_VEC(pack, &p->losses, pack_loss);
}

/* -- kinds: first those of the ledger, then those of completeness.def -- */

typedef enum severity { LOSS, DAMAGE, WARNING, NOTE, SEVERITY_COUNT } severity;
static const char *const severity_names[SEVERITY_COUNT] = {"loss", "damage", "warning", "note"};

enum { KIND_COUNT = KINO__DAMAGE_COUNT + KINO__FINDING_COUNT };

typedef struct kind {
    const char *name;
    const char *meaning;
    severity severity;
} kind;

static kind kind_at(size_t index)
{
    static const kind findings[] = {
#define FINDING(id, text, level, explanation) {text, explanation, level},
#include "analysis/completeness/completeness.def"
#undef FINDING
    };
    if (index >= KINO__DAMAGE_COUNT)
        return findings[index - KINO__DAMAGE_COUNT];
    kino__damage d = (kino__damage)index;
    /* what comes behind the end of the input is lost, though nothing that was read is */
    bool is_loss =
        kino__damage_is_loss(d) || d == KINO__DAMAGE_TRUNCATED || d == KINO__DAMAGE_COMPRESSION;
    return (kind){kino__damage_name(d), kino__damage_meaning(d), is_loss ? LOSS : DAMAGE};
}

static const char *reason_text(uint32_t reason)
{
    static const char *const texts[] = {
#define REASON_TEXT(name, text) text,
        KINO__REASON_MAP(REASON_TEXT)
#undef REASON_TEXT
    };
    return texts[reason];
}

/* -- parameters -- */

enum { P_KINDS };

static const kino_param_info params[] = {
    [P_KINDS] =
        {"kinds", KINO_TYPE_STRING, NULL,
         "show only these kinds or severities, separated by commas; any: everything except notes",
         NULL},
    {0},
};

/* Is the kind, or its severity, among the words? */
static bool is_wanted(kino_str words, const kind *k, severity level)
{
    kino_str name = {k->name, strlen(k->name)};
    while (words.size) {
        const char *comma = memchr(words.data, ',', words.size);
        kino_str word = {words.data, comma ? (size_t)(comma - words.data) : words.size};
        if (kino__str_equal(word, name) || kino__str_is(word, severity_names[level]) ||
            (kino__str_is(word, "any") && level != NOTE))
            return true;
        size_t used = word.size + (comma != NULL);
        words = (kino_str){words.data + used, words.size - used};
    }
    return false;
}

static bool is_word(kino_str word)
{
    if (kino__str_is(word, "any"))
        return true;
    for (int i = 0; i < SEVERITY_COUNT; i++)
        if (kino__str_is(word, severity_names[i]))
            return true;
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (kino__str_is(word, kind_at(i).name))
            return true;
    return false;
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    if (a->values[P_KINDS].kind == KINO_CELL_NULL)
        return KINO_OK; /* all */
    kino_str words = kino__param_text(a, P_KINDS);
    for (;;) {
        const char *comma = words.size ? memchr(words.data, ',', words.size) : NULL;
        kino_str word = {words.data, comma ? (size_t)(comma - words.data) : words.size};
        if (!is_word(word))
            return kino__fail(
                err, KINO_ARGUMENT,
                "unknown kind '%.*s' (expected: any, loss, damage, warning, note, or a kind such "
                "as truncated; 'kino query' lists all of them in completeness_checks)",
                KINO__STR_ARG(word));
        if (!comma)
            return KINO_OK;
        words = (kino_str){comma + 1, words.size - word.size - 1};
    }
}

/* -- tables -- */

static const kino_column finding_columns[] = {
    [KINO__CHECKED_RANK] = {"rank", KINO_TYPE_INT, NULL,
                            "null: the finding is about the whole run, or the rank is unknown"},
    [KINO__CHECKED_TRACE] = {"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
    [KINO__CHECKED_SEVERITY] =
        {"severity", KINO_TYPE_STRING, NULL,
         "loss: missing data; damage: wrong data; warning: inconsistent data; note: good to know"},
    [KINO__CHECKED_KIND] = {"kind", KINO_TYPE_STRING, NULL, NULL},
    [KINO__CHECKED_COUNT] = {"count", KINO_TYPE_INT, "count", "how many"},
    [KINO__CHECKED_OF] = {"of", KINO_TYPE_INT, "count", "out of how many checked"},
    [KINO__CHECKED_FIRST] = {"first", KINO_TYPE_STRING, NULL,
                             "where: events (earliest first), byte offsets, or ranks"},
    [KINO__CHECKED_MEANING] = {"meaning", KINO_TYPE_STRING, NULL, NULL},
    [KINO__CHECKED_EVENTS] = {"events", KINO_TYPE_JSON, KINO_UNIT_EVENT,
                              "ids of the first events, as an array"},
    {0},
};

static const kino_column check_columns[] = {
    {"kind", KINO_TYPE_STRING, NULL, NULL},
    {"severity", KINO_TYPE_STRING, NULL, "severity of its findings"},
    {"status", KINO_TYPE_STRING, NULL, "ok, found, or not available"},
    {"count", KINO_TYPE_INT, "count", "number of findings over all traces; null: not available"},
    {"of", KINO_TYPE_INT, "count", "how many were checked"},
    {"checked", KINO_TYPE_INT, "count", "traces"},
    {"unavailable", KINO_TYPE_INT, "count", "number of traces in which there was nothing to check"},
    {"reason", KINO_TYPE_STRING, NULL, "why not available"},
    {"meaning", KINO_TYPE_STRING, NULL, "what it looks for"},
    {0},
};

static const kino_table_info tables[] = {
    {"findings", "what is missing, wrong or inconsistent, by severity, kind and trace",
     finding_columns, NULL, "nothing"},
    {"checks", "every check, including those that found nothing, and why some could not be made",
     check_columns, NULL, NULL},
    {"recorder_losses", "what kino's recorder could not keep, by reason and thread",
     kino__loss_columns, NULL, "nothing"},
    {0},
};

typedef struct report {
    const kino__analysis *analysis;
    partial *p;
    kino_result *result;
    kino__table *findings;
    kino__buffer text;                            /* scratch */
    kino__check_finding run[KINO__FINDING_COUNT]; /* what only the run as a whole shows */
    bool is_of_run[KINO__FINDING_COUNT];
} report;

static bool is_selected(const report *r, const kind *k, severity level)
{
    kino_str words = kino__param_text(r->analysis, P_KINDS);
    return words.size == 0 || is_wanted(words, k, level);
}

/* "event 5, 9" */
static void add_places(report *r, const char *what, const int64_t *places, uint64_t count,
                       uint64_t total)
{
    r->text.size = 0;
    for (uint64_t i = 0; i < count; i++)
        kino__buffer_printf(&r->text, "%s%" PRId64, i ? ", " : "", places[i]);
    if (count == 0)
        kino__table_add_null(r->findings);
    else
        kino__table_add_format(r->findings, "%s %.*s%s", what,
                               KINO__STR_ARG(kino__buffer_str(&r->text)),
                               total > count ? ", ..." : "");
}

static void add_events(report *r, const kino__check_finding *f, bool are_events)
{
    r->text.size = 0;
    for (uint32_t i = 0; i < f->place_count; i++)
        kino__buffer_printf(&r->text, "%s%" PRId64, i ? "," : "", f->places[i]);
    if (are_events && f->place_count)
        kino__table_add_format(r->findings, "[%.*s]", KINO__STR_ARG(kino__buffer_str(&r->text)));
    else
        kino__table_add_null(r->findings);
}

static void begin_row(report *r, int64_t rank, int64_t trace, severity level, const kind *k,
                      int64_t count, int64_t of)
{
    KINO__TABLE_ADD(r->findings, rank, trace, kino__str_from(severity_names[level]),
                    kino__str_from(k->name), count, of);
}

static void end_row(report *r, const kind *k, const kino__check_finding *f, bool are_events)
{
    kino__table_add_text(r->findings, kino__str_from(k->meaning));
    add_events(r, f, are_events);
}

static void add_damage(report *r, const kind *k, kino__damage d)
{
    for (size_t i = 0; i < r->p->traces.count; i++) {
        const kino__trace_check *t = &r->p->traces.items[i];
        uint64_t count = t->ledger.count[d];
        if (!count)
            continue;
        int64_t places[KINO__LEDGER_PLACES];
        uint64_t known = count < KINO__LEDGER_PLACES ? count : KINO__LEDGER_PLACES;
        for (uint64_t n = 0; n < known; n++)
            places[n] = (int64_t)t->ledger.first[d][n];
        begin_row(r, t->rank, t->trace, k->severity, k, (int64_t)count, KINO_NO_INT);
        add_places(r, "byte", places, known, count);
        end_row(r, k, &(kino__check_finding){0}, false);
    }
}

static void add_finding(report *r, const kind *k, kino__finding_id id)
{
    for (size_t i = 0; !r->is_of_run[id] && i < r->p->traces.count; i++) {
        const kino__trace_check *t = &r->p->traces.items[i];
        const kino__check_finding *f = &t->findings[id];
        if (f->count == KINO_NO_INT || f->count == 0)
            continue;
        begin_row(r, t->rank, t->trace, k->severity, k, f->count, f->of);
        add_places(r, "event", f->places, f->place_count, (uint64_t)f->count);
        end_row(r, k, f, true);
    }
}

static severity run_severity(const report *r, const kind *k, kino__finding_id id)
{
    /* one trace alone is how people look at a rank: that the others are elsewhere is no surprise */
    return id == KINO__FINDING_MISSING_RANK && r->p->traces.count == 1 ? NOTE : k->severity;
}

static void add_run_finding(report *r, const kind *k, kino__finding_id id)
{
    const kino__check_finding *f = &r->run[id];
    if (!r->is_of_run[id] || f->count == KINO_NO_INT || f->count == 0)
        return;
    bool are_ranks = id == KINO__FINDING_MISSING_RANK || id == KINO__FINDING_DUPLICATE_RANK;
    begin_row(r, KINO_NO_INT, KINO_NO_INT, run_severity(r, k, id), k, f->count, f->of);
    add_places(r, are_ranks ? "rank" : "trace", f->places, f->place_count, (uint64_t)f->count);
    end_row(r, k, f, false);
}

static void add_findings(report *r)
{
    for (int level = 0; level < SEVERITY_COUNT; level++) {
        for (size_t i = 0; i < KIND_COUNT; i++) {
            kind k = kind_at(i);
            bool is_damage = i < KINO__DAMAGE_COUNT;
            kino__finding_id id = is_damage ? 0 : (kino__finding_id)(i - KINO__DAMAGE_COUNT);
            severity own = is_damage ? k.severity : run_severity(r, &k, id);
            if (own != (severity)level || !is_selected(r, &k, own))
                continue;
            if (is_damage) {
                add_damage(r, &k, (kino__damage)i);
            } else {
                add_finding(r, &k, id);
                add_run_finding(r, &k, id);
            }
        }
    }
}

/* -- the traces beside each other -- */

static int compare_ranks(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void place(kino__check_finding *f, int64_t where)
{
    f->count++;
    if (f->place_count < KINO__FINDING_PLACES)
        f->places[f->place_count++] = where;
}

/* Sorted ranks: what is missing below world_size, what is double. */
static void compare_with_world(report *r, const int64_t *ranks, size_t count, int64_t world)
{
    kino__check_finding *missing = &r->run[KINO__FINDING_MISSING_RANK];
    kino__check_finding *twice = &r->run[KINO__FINDING_DUPLICATE_RANK];
    int64_t next = 0; /* the first rank that was not seen yet */
    for (size_t i = 0; i <= count; i++) {
        bool is_end = i == count;
        if (!is_end && i && ranks[i] == ranks[i - 1]) {
            place(twice, ranks[i]);
            continue;
        }
        int64_t until = is_end || ranks[i] > world ? world : ranks[i];
        for (int64_t m = next; m < until && missing->place_count < KINO__FINDING_PLACES; m++)
            missing->places[missing->place_count++] = m;
        missing->count += until > next ? until - next : 0;
        next = !is_end && ranks[i] >= next ? kino__sum(ranks[i], 1) : next;
    }
    missing->of = world;
    twice->of = (int64_t)count;
}

static void unavailable(kino__check_finding *f, kino__reason reason)
{
    *f = (kino__check_finding){.count = KINO_NO_INT, .of = KINO_NO_INT, .reason = reason};
}

static bool compare_traces(report *r)
{
    size_t count = r->p->traces.count, known = 0;
    int64_t world = KINO_NO_INT;
    int64_t *ranks = malloc((count + 1) * sizeof *ranks);
    if (!ranks)
        return false;
    kino__check_finding *differ = &r->run[KINO__FINDING_WORLDS_DIFFER];
    kino__check_finding *unknown = &r->run[KINO__FINDING_UNKNOWN_RANK];
    for (size_t i = 0; i < count; i++) {
        const kino__trace_check *t = &r->p->traces.items[i];
        if (t->rank == KINO_NO_INT)
            place(unknown, t->trace);
        else
            ranks[known++] = t->rank;
        if (world == KINO_NO_INT)
            world = t->world_size;
        else if (t->world_size != KINO_NO_INT && t->world_size != world)
            place(differ, t->trace);
    }
    qsort(ranks, known, sizeof *ranks, compare_ranks);
    compare_with_world(r, ranks, known, world == KINO_NO_INT ? 0 : world);
    unknown->of = differ->of = (int64_t)count;
    if (world == KINO_NO_INT) {
        unavailable(&r->run[KINO__FINDING_MISSING_RANK], KINO__REASON_WORLD);
        unavailable(differ, KINO__REASON_WORLD);
    } else if (known == 0) {
        unavailable(&r->run[KINO__FINDING_MISSING_RANK], KINO__REASON_RANKS);
    }
    if (known == 0)
        unavailable(&r->run[KINO__FINDING_DUPLICATE_RANK], KINO__REASON_RANKS);
    if (count == 1) /* alone it needs no rank */
        *unknown = (kino__check_finding){.of = 1};
    free(ranks);
    return true;
}

/* -- every check, and what could not be checked -- */

typedef struct tally {
    int64_t count, of;
    int64_t checked, unavailable;
    uint32_t reason; /* of the first trace that could not be checked */
} tally;

static void add_to_tally(tally *t, const kino__check_finding *f)
{
    if (f->count == KINO_NO_INT) {
        t->reason = t->unavailable++ ? t->reason : f->reason;
        return;
    }
    t->checked++;
    t->count = kino__sum(t->count, f->count);
    if (f->of != KINO_NO_INT)
        t->of = t->of == KINO_NO_INT ? f->of : kino__sum(t->of, f->of);
}

static tally tally_of(const report *r, size_t index)
{
    tally t = {.of = KINO_NO_INT};
    size_t id = index - KINO__DAMAGE_COUNT;
    if (index >= KINO__DAMAGE_COUNT && r->is_of_run[id]) {
        add_to_tally(&t, &r->run[id]);
        return t;
    }
    for (size_t i = 0; i < r->p->traces.count; i++) {
        const kino__trace_check *c = &r->p->traces.items[i];
        if (index >= KINO__DAMAGE_COUNT) {
            add_to_tally(&t, &c->findings[id]);
        } else {
            t.checked++;
            t.count = kino__sum(t.count, (int64_t)c->ledger.count[index]);
        }
    }
    return t;
}

static void add_checks(report *r)
{
    kino__table *table = kino__analysis_table(r->result, 1);
    kino__table_describe(table, KINO__TABLE_QUIET, "Checks", "none");
    for (size_t i = 0; i < KIND_COUNT; i++) {
        kind k = kind_at(i);
        tally t = tally_of(r, i);
        const char *status = t.count ? "found" : t.checked ? "ok" : "not available";
        KINO__TABLE_ADD(table, kino__str_from(k.name), kino__str_from(severity_names[k.severity]),
                        kino__str_from(status), t.checked ? t.count : KINO_NO_INT, t.of, t.checked,
                        t.unavailable);
        if (t.unavailable)
            kino__table_add_text(table, kino__str_from(reason_text(t.reason)));
        else
            kino__table_add_null(table);
        kino__table_add_text(table, kino__str_from(k.meaning));
    }
}

/* One note for all checks that one reason kept from so many traces. */
static void add_notes(report *r)
{
    bool is_told[KIND_COUNT] = {false};
    for (size_t i = KINO__DAMAGE_COUNT; i < KIND_COUNT; i++) {
        tally t = tally_of(r, i);
        if (is_told[i] || !t.unavailable)
            continue;
        r->text.size = 0;
        for (size_t k = i; k < KIND_COUNT; k++) {
            tally other = tally_of(r, k);
            if (other.unavailable != t.unavailable || other.reason != t.reason)
                continue;
            is_told[k] = true;
            kino__buffer_printf(&r->text, "%s%s", k > i ? ", " : "", kind_at(k).name);
        }
        kino_str names = kino__buffer_str(&r->text);
        if (t.checked)
            kino__result_note(r->result, "not available in %" PRId64 " of %zu traces: %.*s: %s",
                              t.unavailable, r->p->traces.count, KINO__STR_ARG(names),
                              reason_text(t.reason));
        else
            kino__result_note(r->result, "not available: %.*s: %s", KINO__STR_ARG(names),
                              reason_text(t.reason));
    }
}

/* People read the rank; the number of the trace only where ranks do not tell traces apart. */
static void hide_columns(report *r)
{
    if (!r->findings)
        return;
    bool has_all_ranks = r->run[KINO__FINDING_UNKNOWN_RANK].count == 0 &&
                         r->run[KINO__FINDING_DUPLICATE_RANK].count == 0;
    r->findings->hidden = 1u << KINO__CHECKED_EVENTS;
    if (has_all_ranks || r->p->traces.count == 1)
        r->findings->hidden |= 1u << KINO__CHECKED_TRACE;
    r->findings->optional = 1u << KINO__CHECKED_RANK | 1u << KINO__CHECKED_TRACE |
                            1u << KINO__CHECKED_OF | 1u << KINO__CHECKED_FIRST;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    report *r = calloc(1, sizeof *r);
    if (!r)
        return kino__fail_nomem(err);
    r->analysis = a;
    r->p = value;
    r->result = result;
    r->findings = kino__analysis_table(result, 0);
    r->is_of_run[KINO__FINDING_MISSING_RANK] = r->is_of_run[KINO__FINDING_DUPLICATE_RANK] =
        r->is_of_run[KINO__FINDING_WORLDS_DIFFER] = r->is_of_run[KINO__FINDING_UNKNOWN_RANK] = true;
    bool ok = compare_traces(r);
    if (ok) {
        add_findings(r);
        add_checks(r);
        kino__losses_fill(kino__analysis_table(result, 2), &r->p->losses, r->p->traces.count == 1);
        add_notes(r);
        hide_columns(r);
    }
    ok = ok && !r->text.failed;
    kino__buffer_deinit(&r->text);
    free(r);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_completeness = {
    .takes_every_process = true,
    .name = "completeness",
    .help = "is the trace complete and valid: what was dropped, repaired, unmatched, out of order",
    .description =
        "Finds everything that makes other results less certain: damage seen while\n"
        "reading, events that the profiler reports as dropped, launches without device\n"
        "activity and vice versa, dangling ids and flows, spans that cross their\n"
        "neighbors or the recording window, impossible durations, clocks that disagree,\n"
        "missing or duplicate ranks, and missing metadata.\n"
        "\n"
        "A check with nothing to look at (such as device activity in a CPU trace) is not\n"
        "available; a note and the table 'checks' say why. 'kino check' shows the same\n"
        "with a verdict.\n",
    .params = params,
    .tables = tables,
    .partial_size = sizeof(partial),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
