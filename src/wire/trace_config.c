/* trace_config.c - reading configuration text: lines, values by kind, and what holds when nothing
 * is said.
 *
 * One pass over the lines; the table of keys (trace_config_keys.def) says where a value goes and
 * how it is read. Values are checked as they come, the rules that join several keys at the end. */
#include "wire/trace_config.h"

#include <signal.h>
#include <stdio.h>
#include <strings.h>

#include "base/error.h"

typedef enum kind {
    KIND_BOOL,
    KIND_INT,     /* 0 .. 2^31 - 1 */
    KIND_SECONDS, /* the same, kept as ms */
    KIND_LONG,    /* 0 .. 2^63 - 1 */
    KIND_START_TIME,
    KIND_TEXT,
    KIND_LIST, /* kept as text */
    KIND_TYPES,
    KIND_PATH,
    KIND_SNAPSHOT,
    KIND_SIGNAL,
} kind;

typedef enum role { ROLE_REQUEST, ROLE_OPTION, ROLE_BASE } role;

typedef struct key {
    const char *name;
    kind kind;
    role role;
    size_t field;
} key;

static const key keys[] = {
#define KEY(name, kind, field, role)                                                               \
    {#name, KIND_##kind, ROLE_##role, offsetof(kino__config, field)},
#define REMOVED_KEY(name)
#include "wire/trace_config_keys.def"
#undef KEY
#undef REMOVED_KEY
};
enum { KEY_COUNT = sizeof keys / sizeof *keys };

static const char *const removed_keys[] = {
#define KEY(name, kind, field, role)
#define REMOVED_KEY(name) #name,
#include "wire/trace_config_keys.def"
#undef KEY
#undef REMOVED_KEY
};

static const struct {
    uint32_t number;
    const char *name;
} activity_types[] = {
#define ACTIVITY_TYPE(number, name) {number, #name},
#include "wire/activity_types.def"
#undef ACTIVITY_TYPE
};

typedef struct parser {
    const kino__config_context *context;
    kino__config *config;
    kino_error *err;
    kino__buffer warnings;
    size_t line;            /* from 1 */
    uint64_t offset;        /* where it begins */
    const key *key;         /* of the line */
    size_t seen[KEY_COUNT]; /* in which line; 0: not yet */
} parser;

/* -- messages */

enum { SHOWN_MAX = 60 };
/* "%.*s" of a text that may be long. */
#define SHOWN(text) (int)((text).size > SHOWN_MAX ? SHOWN_MAX : (text).size), (text).data

static kino_status refuse(const parser *p, const char *format, ...) KINO_PRINTF(2, 3);

static kino_status refuse(const parser *p, const char *format, ...)
{
    char reason[200];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return kino__fail_at(p->err, KINO_FORMAT, p->offset, "%s, line %zu: %s%s%s", p->context->origin,
                         p->line, p->key ? p->key->name : "", p->key ? ": " : "", reason);
}

static void warn(parser *p, const char *format, ...) KINO_PRINTF(2, 3);

static void warn(parser *p, const char *format, ...)
{
    char text[200];
    if (p->config->warning_count++ >= KINO__CONFIG_WARNINGS_MAX)
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kino__buffer_printf(&p->warnings, "line %zu: %s\n", p->line, text);
}

/* -- texts */

static kino_str trim(kino_str text)
{
    while (text.size && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* What is before `separator` leaves `rest` and is returned, trimmed. */
static kino_str take_part(kino_str *rest, char separator)
{
    const char *end = rest->size ? memchr(rest->data, separator, rest->size) : NULL;
    kino_str part = {rest->data, end ? (size_t)(end - rest->data) : rest->size};
    size_t used = end ? part.size + 1 : part.size;
    *rest = (kino_str){rest->data + used, rest->size - used};
    return trim(part);
}

static bool equals_any_case(kino_str text, const char *word)
{
    return text.size == strlen(word) && strncasecmp(text.data, word, text.size) == 0;
}

static kino_status keep(const parser *p, kino_str text, const char **out)
{
    kino_str copy = kino__arena_copy(&p->config->arena, text);
    if (!copy.data)
        return kino__fail_nomem(p->err);
    *out = copy.data;
    return KINO_OK;
}

kino_str kino__config_insert_pid(kino__arena *arena, kino_str path, int64_t pid)
{
    static const char *const endings[] = {".pt.trace.json", ".json"};
    const char *at = NULL;
    for (size_t i = 0; i < 2 && !at && path.size; i++)
        at = memmem(path.data, path.size, endings[i], strlen(endings[i]));
    if (!at && kino__str_ends_with(path, KINO__STR(".kino")))
        at = path.data + path.size - 5;
    if (!at)
        return kino__arena_copy(arena, path);
    kino__buffer name = {.allocator = arena->allocator};
    kino__buffer_add(&name, (kino_str){path.data, (size_t)(at - path.data)});
    kino__buffer_printf(&name, "_%lld", (long long)pid);
    kino__buffer_add(&name, (kino_str){at, (size_t)(path.data + path.size - at)});
    kino_str copy = {0};
    if (!name.failed)
        copy = kino__arena_copy(arena, kino__buffer_str(&name));
    kino__buffer_deinit(&name);
    return copy;
}

/* -- values */

static kino_status read_int(const parser *p, kino_str value, int64_t max, int64_t *out)
{
    int64_t number;
    bool digits = value.size && value.data[0] >= '0' && value.data[0] <= '9';
    if (!digits || !kino__str_to_int(value, &number) || number > max)
        return refuse(p, "invalid number '%.*s' (expected: 0 to %lld)", SHOWN(value),
                      (long long)max);
    *out = number;
    return KINO_OK;
}

static kino_status read_bool(const parser *p, kino_str value, bool *out)
{
    static const char *const words[][2] = {
        {"n", "y"}, {"no", "yes"}, {"f", "t"}, {"false", "true"}, {"0", "1"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int truth = 0; truth < 2; truth++)
            if (equals_any_case(value, words[i][truth])) {
                *out = truth;
                return KINO_OK;
            }
    return refuse(p, "invalid value '%.*s' (expected: yes or no)", SHOWN(value));
}

static kino_status read_start_time(const parser *p, kino_str value)
{
    int64_t start = 0, now = p->context->now_ms;
    KINO_TRY(read_int(p, value, INT64_MAX, &start));
    if (start && start < now - KINO__CONFIG_AGE_MAX_MS)
        return refuse(p, "start time %lld is %lld ms in the past (limit: %d ms)", (long long)start,
                      (long long)(now - start), KINO__CONFIG_AGE_MAX_MS);
    p->config->start_time_ms = start;
    p->config->has_start_time = start != 0;
    return KINO_OK;
}

static kino_status read_types(const parser *p, kino_str value)
{
    uint32_t selected = 0;
    while (value.size) {
        kino_str name = take_part(&value, ',');
        uint32_t bit = 0;
        if (!name.size)
            continue;
        for (size_t i = 0; i < sizeof activity_types / sizeof *activity_types; i++)
            if (equals_any_case(name, activity_types[i].name))
                bit = 1u << activity_types[i].number;
        if (!bit)
            return refuse(p, "unknown activity type '%.*s'", SHOWN(name));
        selected |= bit;
    }
    p->config->activity_types = selected;
    return KINO_OK;
}

/* Somebody else's request writes only where it may. */
static kino_status check_remote_path(const parser *p, kino_str path)
{
    const char *folder =
        p->context->remote_dir && p->context->remote_dir[0] ? p->context->remote_dir : "/tmp";
    kino_str prefix = kino__str_from(folder);
    while (prefix.size > 1 && prefix.data[prefix.size - 1] == '/')
        prefix.size--;
    bool is_inside = path.size > prefix.size + 1 && kino__str_starts_with(path, prefix) &&
                     (path.data[prefix.size] == '/' || prefix.size == 1);
    if (!is_inside)
        return refuse(p, "'%.*s' is outside %.*s/ (KINETO_ONDEMAND_TRACE_DIR)", SHOWN(path),
                      SHOWN(prefix));
    if (kino__str_contains(path, KINO__STR("..")))
        return refuse(p, "'%.*s' contains '..'", SHOWN(path));
    return KINO_OK;
}

/* Does it begin with the name of a protocol and "://"? */
static bool is_url(kino_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '+' || c == '-' || c == '.';
        if (!fits)
            return i > 0 && text.size - i >= 3 && memcmp(text.data + i, "://", 3) == 0;
    }
    return false;
}

/* A URL stays a URL, a path becomes one of file://. */
static kino_status set_url(const parser *p, kino_str path)
{
    kino_str named = kino__config_insert_pid(&p->config->arena, path, p->context->pid);
    if (!named.data)
        return kino__fail_nomem(p->err);
    named =
        kino__arena_format(&p->config->arena, "%s%s", is_url(path) ? "" : "file://", named.data);
    if (!named.data)
        return kino__fail_nomem(p->err);
    p->config->url = named.data;
    return KINO_OK;
}

static kino_status read_path(const parser *p, kino_str value)
{
    if (p->context->is_remote)
        KINO_TRY(check_remote_path(p, value));
    KINO_TRY(keep(p, value, &p->config->log_file));
    return set_url(p, value);
}

/* A file whose name has the pid already. */
static kino_status set_default_path(const parser *p, const char *start, const char *ending)
{
    kino__arena *arena = &p->config->arena;
    kino_str path =
        kino__arena_format(arena, "/tmp/%s_%lld%s", start, (long long)p->context->pid, ending);
    kino_str url = path.data ? kino__arena_format(arena, "file://%s", path.data) : path;
    if (!url.data)
        return kino__fail_nomem(p->err);
    p->config->log_file = path.data;
    p->config->url = url.data;
    return KINO_OK;
}

/* Another file from here on; a path in a later line counts again. */
static kino_status read_snapshot(const parser *p, kino_str value)
{
    KINO_TRY(read_bool(p, value, &p->config->wants_snapshot));
    if (!p->config->wants_snapshot)
        return KINO_OK;
    return set_default_path(p, "memory_snapshot", ".pickle");
}

bool kino__config_signal_is_usable(int64_t number)
{
    return number == SIGUSR1 || number == SIGUSR2 || (number >= SIGRTMIN && number <= SIGRTMAX);
}

int kino__config_signal(kino_str text)
{
    int64_t number = 0;
    if (kino__str_starts_with(text, KINO__STR("SIG")))
        text = (kino_str){text.data + 3, text.size - 3};
    if (kino__str_is(text, "USR1"))
        return SIGUSR1;
    if (kino__str_is(text, "USR2"))
        return SIGUSR2;
    if (!kino__str_to_int(text, &number))
        return 0;
    return kino__config_signal_is_usable(number) ? (int)number : 0;
}

static kino_status read_signal(const parser *p, kino_str value)
{
    int number = kino__config_signal(value);
    if (!number)
        return refuse(p, "invalid signal '%.*s' (expected: SIGUSR1, SIGUSR2, or %d to %d)",
                      SHOWN(value), SIGRTMIN, SIGRTMAX);
    p->config->signal_number = number;
    return KINO_OK;
}

static kino_status read_value(const parser *p, kino_str value)
{
    char *field = (char *)p->config + p->key->field;
    int64_t *number = (int64_t *)(void *)field;
    switch (p->key->kind) {
    case KIND_BOOL:
        return read_bool(p, value, (bool *)field);
    case KIND_INT:
        return read_int(p, value, INT32_MAX, number);
    case KIND_SECONDS:
        KINO_TRY(read_int(p, value, INT32_MAX, number));
        *number *= 1000;
        return KINO_OK;
    case KIND_LONG:
        return read_int(p, value, INT64_MAX, number);
    case KIND_START_TIME:
        return read_start_time(p, value);
    case KIND_TEXT:
    case KIND_LIST:
        return keep(p, value, (const char **)(void *)field);
    case KIND_TYPES:
        return read_types(p, value);
    case KIND_PATH:
        return read_path(p, value);
    case KIND_SNAPSHOT:
        return read_snapshot(p, value);
    case KIND_SIGNAL:
        return read_signal(p, value);
    }
    return KINO_OK;
}

/* -- lines */

static void warn_of_key(parser *p, kino_str name)
{
    for (size_t i = 0; i < sizeof removed_keys / sizeof *removed_keys; i++)
        if (kino__str_is(name, removed_keys[i])) {
            warn(p, "key '%s' of older versions is ignored%s", removed_keys[i],
                 strcmp(removed_keys[i], "ENABLE_SIGUSR2") == 0 ? "; use KINO_SIGNAL" : "");
            return;
        }
    warn(p, "unknown key '%.*s'", SHOWN(name));
}

kino__config_key_kind kino__config_key_kind_of(kino_str name)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (kino__str_is(name, keys[i].name))
            return keys[i].role == ROLE_BASE ? KINO__CONFIG_KEY_BASE : KINO__CONFIG_KEY_REQUEST;
    return KINO__CONFIG_KEY_UNKNOWN;
}

static kino_status check_bytes(const parser *p, kino_str line)
{
    for (size_t i = 0; i < line.size; i++) {
        unsigned char c = (unsigned char)line.data[i];
        if (c == '\r')
            return refuse(p, "carriage return: lines must end with a line feed only");
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return refuse(p, "control character (0x%02x)", c);
    }
    return KINO_OK;
}

static kino_status read_line(parser *p, kino_str line)
{
    kino_str rest = line;
    p->key = NULL;
    line = take_part(&rest, '#');
    KINO_TRY(check_bytes(p, line));
    if (!line.size)
        return KINO_OK;
    const char *equal = memchr(line.data, '=', line.size);
    if (!equal)
        return refuse(p, "invalid line '%.*s' (expected: KEY=VALUE)", SHOWN(line));
    kino_str value = line, name = take_part(&value, '=');
    value = trim(value);
    if (!name.size || !value.size)
        return refuse(p, "invalid line '%.*s': missing %s", SHOWN(line),
                      name.size ? "value" : "key");
    if (memchr(value.data, '=', value.size))
        return refuse(p, "invalid line '%.*s': more than one '='", SHOWN(line));
    for (size_t i = 0; i < KEY_COUNT && !p->key; i++)
        if (kino__str_is(name, keys[i].name))
            p->key = &keys[i];
    if (!p->key) {
        warn_of_key(p, name);
        return KINO_OK;
    }
    size_t *seen = &p->seen[p->key - keys];
    if (*seen)
        warn(p, "%s given twice; line %zu is ignored", p->key->name, *seen);
    *seen = p->line;
    if (p->key->role == ROLE_REQUEST)
        p->config->is_request = true;
    return read_value(p, value);
}

/* -- the whole */

static kino_status set_defaults(const parser *p)
{
    kino__config *c = p->config;
    kino__arena_init(&c->arena, p->context->allocator);
    c->activities_enabled = c->shows_wait_events = true;
    c->duration_ms = 500;
    c->warmup_ms = 5000;
    c->start_iteration = c->start_roundup = c->start_delay_ms = -1;
    c->snapshot_ms = 1000;
    c->gpu_buffer_mb = 128;
    c->rocm_max_events = 5000000;
    c->cupti_pm_device = -1;
    c->xpu_max_scopes = 1500;
    c->poll_interval_ms = 5000;
    c->verbose_level = -1;
    c->cupti_pm_metrics = c->xpu_metrics = c->custom_config = "";
    c->trace_id = c->group_trace_id = c->verbose_modules = c->warnings = "";
    c->log_file = c->url = "";
    return set_default_path(p, "libkineto_activities", ".json");
}

/* What follows from several lines. */
static kino_status finish(parser *p)
{
    kino__config *c = p->config;
    if (c->start_delay_ms >= 0 && !c->has_start_time)
        c->start_time_ms = p->context->now_ms + c->start_delay_ms;
    else if (!c->start_time_ms)
        c->start_time_ms = p->context->now_ms + c->warmup_ms + KINO__CONFIG_LEAD_MS;
    if (c->start_roundup == 0)
        c->start_roundup = -1;
    if (c->start_roundup > 0 && c->start_iteration < 0)
        c->start_iteration = 0;
    c->has_activity_types = c->activity_types != 0;
    if (!c->has_activity_types)
        c->activity_types = KINO__ACTIVITY_TYPES_DEFAULT;
    if (c->is_request)
        c->activities_enabled = true;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        c->has_use_daemon |= p->seen[i] && keys[i].field == offsetof(kino__config, use_daemon);
        c->wants_dump |= p->seen[i] && keys[i].field == offsetof(kino__config, dump_last_ms);
    }
    if (p->warnings.failed)
        return kino__fail_nomem(p->err);
    return p->warnings.size ? keep(p, kino__buffer_str(&p->warnings), &c->warnings) : KINO_OK;
}

static kino_status read_lines(parser *p, kino_str text)
{
    const char *begin = text.data;
    while (text.size) {
        const char *end = memchr(text.data, '\n', text.size);
        kino_str line = {text.data, end ? (size_t)(end - text.data) : text.size};
        p->line++;
        p->offset = (uint64_t)(text.data - begin);
        KINO_TRY(read_line(p, line));
        size_t used = end ? line.size + 1 : line.size;
        text = (kino_str){text.data + used, text.size - used};
    }
    return KINO_OK;
}

kino_status kino__config_parse(kino_str text, const kino__config_context *context,
                               kino__config *out, kino_error *err)
{
    parser p = {.context = context,
                .config = out,
                .err = err,
                .warnings = {.allocator = context->allocator}};
    kino__error_clear(err);
    *out = (kino__config){0};
    KINO_TRY(set_defaults(&p));
    if (text.size > KINO__CONFIG_TEXT_MAX)
        return kino__fail(err, KINO_FORMAT, "%s: more than %d bytes", context->origin,
                          KINO__CONFIG_TEXT_MAX);
    kino_status st = read_lines(&p, text);
    if (st == KINO_OK)
        st = finish(&p);
    kino__buffer_deinit(&p.warnings);
    return st;
}

void kino__config_deinit(kino__config *config)
{
    kino__arena_deinit(&config->arena);
    *config = (kino__config){0};
}

void kino__config_take(kino__config *from, kino__config *to)
{
    *to = *from;
    *from = (kino__config){0};
}

kino_status kino__config_check_request(const kino__config *c, const char *origin, kino_error *err)
{
    const char *wrong = NULL;
    bool by_iteration = kino__config_is_by_iteration(c);
    if (!c->activities_enabled)
        wrong = "ACTIVITIES_ENABLED is 'no'";
    else if (c->wants_snapshot && c->wants_dump)
        wrong = "PROFILE_MEMORY and KINO_DUMP cannot be combined";
    else if (c->wants_snapshot || c->wants_dump)
        wrong = by_iteration ? "a memory snapshot or a dump cannot wait for an iteration" : NULL;
    else if (c->iterations > 0 && c->start_iteration < 0)
        wrong = "ACTIVITIES_ITERATIONS requires PROFILE_START_ITERATION (0: the next one)";
    else if (c->start_iteration >= 0 && c->iterations == 0)
        wrong = "PROFILE_START_ITERATION requires ACTIVITIES_ITERATIONS";
    else if (c->has_start_time && c->start_delay_ms >= 0)
        wrong = "PROFILE_START_TIME and KINO_START_DELAY_MSECS cannot be combined";
    else if (!by_iteration && c->duration_ms == 0)
        wrong = "ACTIVITIES_DURATION_MSECS is 0";
    if (wrong)
        return kino__fail(err, KINO_FORMAT, "%s: %s", origin, wrong);
    return KINO_OK;
}
