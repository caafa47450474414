/* metrics_text.c - the texts of /proc, /sys and cgroups, read word by word. */
#include "daemon/metrics_text.h"

#include "base/str.h"

/* -- words -- */

static kino_str skip(kino_str text, size_t count)
{
    return (kino_str){text.data + count, text.size - count};
}

bool kino__text_line(kino_str *rest, kino_str *line)
{
    if (rest->size == 0)
        return false;
    const char *end = memchr(rest->data, '\n', rest->size);
    size_t size = end ? (size_t)(end - rest->data) : rest->size;
    *line = (kino_str){rest->data, size};
    *rest = skip(*rest, size + (end != NULL));
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool kino__text_word(kino_str *line, kino_str *word)
{
    size_t from = 0;
    while (from < line->size && is_blank(line->data[from]))
        from++;
    size_t to = from;
    while (to < line->size && !is_blank(line->data[to]))
        to++;
    *word = (kino_str){line->data + from, to - from};
    *line = skip(*line, to);
    return to > from;
}

/* Only digits; "-1" and "max" are no counts. */
static int64_t number(kino_str word)
{
    int64_t value;
    if (word.size == 0 || word.data[0] < '0' || word.data[0] > '9' ||
        !kino__str_to_int(word, &value))
        return KINO_NO_INT;
    return value;
}

int64_t kino__text_number(kino_str *line)
{
    kino_str word;
    return kino__text_word(line, &word) ? number(word) : KINO_NO_INT;
}

static int64_t times(int64_t value, int64_t factor)
{
    int64_t product;
    if (value == KINO_NO_INT || __builtin_mul_overflow(value, factor, &product))
        return KINO_NO_INT;
    return product;
}

/* -- /proc/stat -- */

bool kino__parse_cpu(kino_str line, kino__cpu_line *out)
{
    if (!kino__text_word(&line, &out->name) ||
        !kino__str_starts_with(out->name, KINO__STR("cpu")) ||
        (out->name.size > 3 && number(skip(out->name, 3)) == KINO_NO_INT))
        return false;
    for (unsigned i = 0; i < KINO__CPU_MODES; i++)
        out->ticks[i] = kino__text_number(&line);
    return true;
}

void kino__parse_stat_total(kino_str line, kino__stat_totals *totals)
{
    kino_str name;
    if (!kino__text_word(&line, &name))
        return;
    if (kino__str_is(name, "ctxt"))
        totals->context_switches = kino__text_number(&line);
    else if (kino__str_is(name, "intr"))
        totals->interrupts = kino__text_number(&line);
    else if (kino__str_is(name, "processes"))
        totals->forks = kino__text_number(&line);
    else if (kino__str_is(name, "procs_running"))
        totals->running = kino__text_number(&line);
    else if (kino__str_is(name, "procs_blocked"))
        totals->blocked = kino__text_number(&line);
    else if (kino__str_is(name, "btime"))
        totals->boot_time_s = kino__text_number(&line);
}

/* -- /proc/meminfo -- */

void kino__parse_meminfo(kino_str text, int64_t values[KINO__MEMORY_VALUES])
{
    static const char *const names[KINO__MEMORY_VALUES] = {
        [KINO__MEMORY_TOTAL] = "MemTotal:",
        [KINO__MEMORY_FREE] = "MemFree:",
        [KINO__MEMORY_AVAILABLE] = "MemAvailable:",
        [KINO__MEMORY_BUFFERS] = "Buffers:",
        [KINO__MEMORY_CACHED] = "Cached:",
        [KINO__MEMORY_SHMEM] = "Shmem:",
        [KINO__MEMORY_SLAB] = "Slab:",
        [KINO__MEMORY_DIRTY] = "Dirty:",
        [KINO__MEMORY_WRITEBACK] = "Writeback:",
        [KINO__MEMORY_SWAP_TOTAL] = "SwapTotal:",
        [KINO__MEMORY_SWAP_FREE] = "SwapFree:",
    };
    for (unsigned i = 0; i < KINO__MEMORY_VALUES; i++)
        values[i] = KINO_NO_INT;
    kino_str line, name, unit;
    while (kino__text_line(&text, &line)) {
        if (!kino__text_word(&line, &name))
            continue;
        for (unsigned i = 0; i < KINO__MEMORY_VALUES; i++) {
            if (!kino__str_is(name, names[i]))
                continue;
            int64_t value = kino__text_number(&line);
            bool is_kib = kino__text_word(&line, &unit) && kino__str_is(unit, "kB");
            values[i] = times(value, is_kib ? 1024 : 1);
        }
    }
}

/* -- /proc/pressure -- */

/* "name=12.34" as a share with 6 digits: 12.34 % is 0.1234. */
static int64_t percent(kino_str word, const char *name)
{
    size_t length = strlen(name);
    if (!kino__str_starts_with(word, (kino_str){name, length}))
        return KINO_NO_INT;
    kino_str text = skip(word, length);
    const char *point = memchr(text.data, '.', text.size);
    if (!point || (size_t)(point - text.data) + 3 != text.size)
        return KINO_NO_INT;
    int64_t whole = number((kino_str){text.data, (size_t)(point - text.data)});
    int64_t part = number((kino_str){point + 1, 2});
    if (whole == KINO_NO_INT || part == KINO_NO_INT || whole > 100)
        return KINO_NO_INT;
    return (whole * 100 + part) * 100;
}

static void parse_pressure_line(kino_str line, int64_t *avg10, int64_t *total_us)
{
    kino_str word;
    while (kino__text_word(&line, &word)) {
        if (kino__str_starts_with(word, KINO__STR("avg10=")))
            *avg10 = percent(word, "avg10=");
        else if (kino__str_starts_with(word, KINO__STR("total=")))
            *total_us = number(skip(word, 6));
    }
}

void kino__parse_pressure(kino_str text, kino__pressure *out)
{
    *out = (kino__pressure){KINO_NO_INT, KINO_NO_INT, KINO_NO_INT, KINO_NO_INT};
    kino_str line, kind;
    while (kino__text_line(&text, &line)) {
        if (!kino__text_word(&line, &kind))
            continue;
        if (kino__str_is(kind, "some"))
            parse_pressure_line(line, &out->some_avg10, &out->some_us);
        else if (kino__str_is(kind, "full"))
            parse_pressure_line(line, &out->full_avg10, &out->full_us);
    }
}

/* -- /proc/diskstats, /proc/net/dev -- */

bool kino__parse_disk(kino_str line, kino__disk_line *out)
{
    if (kino__text_number(&line) == KINO_NO_INT || kino__text_number(&line) == KINO_NO_INT ||
        !kino__text_word(&line, &out->name))
        return false;
    out->reads = kino__text_number(&line);
    (void)kino__text_number(&line); /* merged */
    out->read_sectors = kino__text_number(&line);
    out->read_ms = kino__text_number(&line);
    out->writes = kino__text_number(&line);
    (void)kino__text_number(&line);
    out->written_sectors = kino__text_number(&line);
    out->write_ms = kino__text_number(&line);
    out->in_flight = kino__text_number(&line);
    out->busy_ms = kino__text_number(&line);
    return out->busy_ms != KINO_NO_INT;
}

/* A large count may touch the colon: "eth0:123". */
bool kino__parse_net(kino_str line, kino__net_line *out)
{
    const char *colon = line.size ? memchr(line.data, ':', line.size) : NULL;
    if (!colon)
        return false;
    kino_str before = {line.data, (size_t)(colon - line.data)};
    if (!kino__text_word(&before, &out->name))
        return false;
    line = skip(line, (size_t)(colon - line.data) + 1);
    int64_t fields[16];
    for (unsigned i = 0; i < 16; i++) {
        fields[i] = kino__text_number(&line);
        if (i < KINO__NET_VALUES && fields[i] == KINO_NO_INT)
            return false;
    }
    for (unsigned i = 0; i < KINO__NET_VALUES; i++) {
        out->received[i] = fields[i];
        out->sent[i] = fields[8 + i];
    }
    return true;
}

/* -- /proc/PID/stat -- */

/* The command ends at the last parenthesis: it may hold others. */
bool kino__parse_pid_stat(kino_str text, kino__pid_stat *out)
{
    enum { PARENT = 4, MAJOR = 12, UTIME = 14, STIME = 15, THREADS = 20, START = 22, RSS = 24 };
    const char *open = text.size ? memchr(text.data, '(', text.size) : NULL;
    const char *close = text.size ? memrchr(text.data, ')', text.size) : NULL;
    if (!open || !close || close < open)
        return false;
    kino_str front = {text.data, (size_t)(open - text.data)};
    out->pid = kino__text_number(&front);
    out->command = (kino_str){open + 1, (size_t)(close - open) - 1};
    kino_str rest = skip(text, (size_t)(close - text.data) + 1), word;
    if (out->pid == KINO_NO_INT || !kino__text_word(&rest, &word) || word.size != 1)
        return false;
    out->state = word.data[0];
    int64_t fields[RSS + 1];
    for (unsigned i = PARENT; i <= RSS; i++)
        fields[i] = kino__text_number(&rest);
    out->parent = fields[PARENT];
    out->major_faults = fields[MAJOR];
    out->user_ticks = fields[UTIME];
    out->system_ticks = fields[STIME];
    out->threads = fields[THREADS];
    out->start_ticks = fields[START];
    out->rss_pages = fields[RSS];
    return out->parent != KINO_NO_INT && out->user_ticks != KINO_NO_INT &&
           out->system_ticks != KINO_NO_INT && out->start_ticks != KINO_NO_INT;
}

/* -- cgroups -- */

/* Is `name` one of the words between commas? */
static bool has_member(kino_str list, kino_str name)
{
    while (list.size > 0) {
        const char *comma = memchr(list.data, ',', list.size);
        size_t size = comma ? (size_t)(comma - list.data) : list.size;
        if (kino__str_equal((kino_str){list.data, size}, name))
            return true;
        list = skip(list, size + (comma != NULL));
    }
    return false;
}

/* "4:memory:/path", "1:cpu,cpuacct:/path"; version 2 is "0::/path". */
bool kino__parse_cgroup(kino_str text, const char *controller, kino_str *path)
{
    kino_str line, want = kino__str_from(controller);
    while (kino__text_line(&text, &line)) {
        const char *first = line.size ? memchr(line.data, ':', line.size) : NULL;
        if (!first)
            continue;
        kino_str rest = skip(line, (size_t)(first - line.data) + 1);
        const char *second = rest.size ? memchr(rest.data, ':', rest.size) : NULL;
        if (!second)
            continue;
        kino_str list = {rest.data, (size_t)(second - rest.data)};
        bool is_it = want.size == 0 ? list.size == 0 : has_member(list, want);
        if (!is_it)
            continue;
        *path = skip(rest, list.size + 1);
        return true;
    }
    return false;
}

/* "31 23 0:28 ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER_OPTIONS". */
static bool parse_mount_line(kino_str line, const char *controller, kino_str *point, kino_str *root)
{
    kino_str word, type, options;
    for (unsigned i = 0; i < 3; i++)
        if (!kino__text_word(&line, &word))
            return false;
    if (!kino__text_word(&line, root) || !kino__text_word(&line, point))
        return false;
    do {
        if (!kino__text_word(&line, &word))
            return false;
    } while (!kino__str_is(word, "-"));
    if (!kino__text_word(&line, &type) || !kino__text_word(&line, &word) ||
        !kino__text_word(&line, &options))
        return false;
    if (controller[0] == '\0')
        return kino__str_is(type, "cgroup2");
    return kino__str_is(type, "cgroup") && has_member(options, kino__str_from(controller));
}

bool kino__parse_cgroup_mount(kino_str text, const char *controller, kino_str *point,
                              kino_str *root)
{
    kino_str line;
    while (kino__text_line(&text, &line))
        if (parse_mount_line(line, controller, point, root))
            return true;
    return false;
}

int64_t kino__parse_key(kino_str text, const char *key)
{
    kino_str line, word;
    while (kino__text_line(&text, &line))
        if (kino__text_word(&line, &word) && kino__str_is(word, key))
            return kino__text_number(&line);
    return KINO_NO_INT;
}

int64_t kino__parse_single(kino_str text)
{
    return kino__text_number(&text);
}

/* -- /proc/PID/environ -- */

bool kino__parse_environment(kino_str text, const char *name, kino_str *value)
{
    kino_str want = kino__str_from(name);
    while (text.size > 0) {
        const char *end = memchr(text.data, '\0', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        kino_str entry = {text.data, size};
        if (size > want.size && entry.data[want.size] == '=' &&
            kino__str_starts_with(entry, want)) {
            *value = skip(entry, want.size + 1);
            return true;
        }
        text = skip(text, size + (end != NULL));
    }
    return false;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* The first run of exactly 64 hexadecimal digits. */
static kino_str find_id(kino_str path)
{
    for (size_t at = 0; at < path.size;) {
        size_t end = at;
        while (end < path.size && is_hex(path.data[end]))
            end++;
        if (end - at == 64)
            return (kino_str){path.data + at, 64};
        at = end + 1;
    }
    return (kino_str){path.data, 0};
}

/* ".../pod<uid>/..." or ".../kubepods-burstable-pod<uid with underscores>.slice/..." */
static kino_str find_pod(kino_str path)
{
    enum { UID = 36 };
    for (size_t at = 0; at + 3 + UID <= path.size; at++) {
        if (memcmp(path.data + at, "pod", 3) != 0)
            continue;
        kino_str uid = {path.data + at + 3, UID};
        bool is_uid = true;
        for (size_t i = 0; i < UID; i++) {
            bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
            is_uid &= is_dash ? uid.data[i] == '-' || uid.data[i] == '_' : is_hex(uid.data[i]);
        }
        if (is_uid)
            return uid;
    }
    return (kino_str){path.data, 0};
}

void kino__parse_container(kino_str path, kino_str *container, kino_str *pod_uid)
{
    *container = find_id(path);
    *pod_uid = find_pod(path);
}
