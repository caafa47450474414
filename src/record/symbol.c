/* symbol.c - modules, functions and places, each once. What an ELF file says is asked of
 * symbol_elf.c, lists of names are symbol_table.c's. */
#include "record/symbol.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/error.h"
#include "base/map.h"
#include "base/string_pool.h"
#include "record/symbol_elf.h"
#include "record/symbol_table.h"

enum {
    NAME_MAX_BYTES = 1000, /* of a demangled name: templates can fill a page */
    LIST_MAX_BYTES = 256 << 20,
};

typedef enum module_kind {
    MODULE_FILE,
    MODULE_MADE,   /* /tmp/perf-<pid>.map */
    MODULE_KERNEL, /* /proc/kallsyms */
    MODULE_NONE,   /* memory without a file: nothing can be known */
} module_kind;

typedef struct module {
    module_kind kind;
    kino__symbol_file file; /* texts are the pool's */
    kino_strid name;        /* without folders */
    int32_t pid;            /* of made code */
    bool opened;
    kino__elf *elf;
    kino__symbol_table *table;
    char *complaint;         /* why it has no names; NULL: it has, or nobody asked */
    kino__map places, rules; /* by offset */
} module;

typedef struct place {
    uint32_t first, count; /* in frames */
} place;

struct kino__symbols {
    kino__string_pool texts;
    KINO__VEC(module) modules;
    KINO__VEC(place) places;
    KINO__VEC(kino__symbol_frame) frames;
    KINO__VEC(kino__unwind_rule) rules; /* the first one is none */
    KINO__VEC(kino__symbol_function) functions;
    kino__map by_source, by_function; /* (name, file) -> pair; (pair, module) -> function */
    kino__map by_path;                /* text of the description -> module */
    kino__demangler demangler;
};

kino_status kino__symbols_new(kino__symbols **out, kino_error *err)
{
    kino__symbols *symbols = *out = calloc(1, sizeof *symbols);
    if (!symbols)
        return kino__fail_nomem(err);
    kino__string_pool_init(&symbols->texts, NULL);
    kino__map_init(&symbols->by_source, NULL);
    kino__map_init(&symbols->by_function, NULL);
    kino__map_init(&symbols->by_path, NULL);
    /* libdw would fetch what is missing from servers named there, for minutes, unasked. */
    (void)setenv("DEBUGINFOD_URLS", "", 1); /* NOLINT(concurrency-mt-unsafe): one thread */
    /* Where there is no C++ library there are hardly names to translate. */
    kino__demangler_open(&symbols->demangler);
    const kino__symbol_file kernel = {.path = KINO__STR("[kernel]"), .build_id = {"", 0}};
    const kino__symbol_file unknown = {.path = KINO__STR("[unknown]"), .build_id = {"", 0}};
    kino__unwind_rule *none = kino__vec_add(&symbols->rules);
    if (none)
        *none = (kino__unwind_rule){.kind = KINO__UNWIND_NONE};
    if (!none || kino__symbols_module(symbols, &kernel) != KINO__MODULE_KERNEL ||
        kino__symbols_module(symbols, &unknown) != KINO__MODULE_UNKNOWN) {
        kino__symbols_free(symbols);
        *out = NULL;
        return kino__fail_nomem(err);
    }
    return KINO_OK;
}

void kino__symbols_free(kino__symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->modules.count; i++) {
        module *m = &symbols->modules.items[i];
        kino__elf_close(m->elf);
        if (m->table)
            kino__symbol_table_deinit(m->table);
        free(m->table);
        free(m->complaint);
        kino__map_deinit(&m->places);
        kino__map_deinit(&m->rules);
    }
    kino__vec_deinit(&symbols->modules);
    kino__vec_deinit(&symbols->places);
    kino__vec_deinit(&symbols->frames);
    kino__vec_deinit(&symbols->rules);
    kino__vec_deinit(&symbols->functions);
    kino__map_deinit(&symbols->by_source);
    kino__map_deinit(&symbols->by_function);
    kino__map_deinit(&symbols->by_path);
    kino__string_pool_deinit(&symbols->texts);
    kino__demangler_close(&symbols->demangler);
    free(symbols);
}

/* ---- modules ---- */

static kino_str base_name(kino_str path)
{
    size_t at = path.size;
    while (at > 0 && path.data[at - 1] != '/')
        at--;
    return at < path.size ? (kino_str){path.data + at, path.size - at} : path;
}

bool kino__symbols_is_file(kino_str path)
{
    static const char *const memory[] = {"//", "/dev/zero", "/anon_hugepage", "/memfd:", "/SYSV"};
    if (!path.size || path.data[0] != '/')
        return false;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (kino__str_starts_with(path, kino__str_from(memory[i])))
            return false;
    return true;
}

static module_kind kind_of(kino_str path)
{
    if (kino__str_is(path, "[kernel]"))
        return MODULE_KERNEL;
    return kino__str_is(path, "[vdso]") || kino__symbols_is_file(path) ? MODULE_FILE : MODULE_NONE;
}

static uint32_t add_module(kino__symbols *symbols, module made, kino_str name)
{
    made.name = kino__string_pool_add(&symbols->texts, name);
    module *slot = made.name == KINO_NO_STRING || symbols->modules.count >= KINO__NO_MODULE
                       ? NULL
                       : kino__vec_add(&symbols->modules);
    if (!slot)
        return KINO__NO_MODULE;
    *slot = made;
    kino__map_init(&slot->places, NULL);
    kino__map_init(&slot->rules, NULL);
    return (uint32_t)symbols->modules.count - 1;
}

/* A text that two descriptions share only when they are of the same file. */
static kino_strid describe(kino__symbols *symbols, module_kind kind, const kino__symbol_file *file,
                           int32_t pid)
{
    kino__buffer key = {0};
    kino__buffer_printf(&key, "%d %d %u:%u:%llu ", (int)kind, pid, file->major, file->minor,
                        (unsigned long long)file->inode);
    for (size_t i = 0; i < file->build_id.size; i++)
        kino__buffer_printf(&key, "%02x", (unsigned)(unsigned char)file->build_id.data[i]);
    kino__buffer_add(&key, KINO__STR(" "));
    kino__buffer_add(&key, file->path);
    kino_strid id = key.failed ? KINO_NO_STRING
                               : kino__string_pool_add(&symbols->texts, kino__buffer_str(&key));
    kino__buffer_deinit(&key);
    return id;
}

static uint32_t find_module(kino__symbols *symbols, module_kind kind, const kino__symbol_file *file,
                            int32_t pid, kino_str name)
{
    kino_strid key = describe(symbols, kind, file, pid);
    uint32_t *number =
        key == KINO_NO_STRING ? NULL : kino__map_put(&symbols->by_path, key, KINO__NO_MODULE);
    if (!number)
        return KINO__NO_MODULE;
    if (*number != KINO__NO_MODULE)
        return *number;
    module made = {.kind = kind, .file = *file, .pid = pid};
    kino_strid path = kino__string_pool_add(&symbols->texts, file->path);
    kino_strid build_id = kino__string_pool_add(&symbols->texts, file->build_id);
    if (path == KINO_NO_STRING || build_id == KINO_NO_STRING)
        return KINO__NO_MODULE;
    made.file.path = kino__string_pool_text(&symbols->texts, path);
    made.file.build_id = kino__string_pool_text(&symbols->texts, build_id);
    return *number = add_module(symbols, made, name);
}

uint32_t kino__symbols_module(kino__symbols *symbols, const kino__symbol_file *file)
{
    return find_module(symbols, kind_of(file->path), file, 0, base_name(file->path));
}

uint32_t kino__symbols_made_code(kino__symbols *symbols, int32_t pid)
{
    const kino__symbol_file file = {.path = {"", 0}, .build_id = {"", 0}};
    return find_module(symbols, MODULE_MADE, &file, pid, KINO__STR("[made code]"));
}

static void complain(module *m, const char *reason)
{
    if (!m->complaint)
        m->complaint = strdup(reason);
}

/* The whole text of a list, which may be a file of /proc without size. */
static bool read_list(int fd, kino__buffer *out)
{
    for (;;) {
        char *room = kino__buffer_reserve(out, 1 << 16);
        ssize_t size = room && out->size < LIST_MAX_BYTES ? read(fd, room, 1 << 16) : -1;
        if (size <= 0)
            return size == 0;
        out->size += (size_t)size;
    }
}

/* Only a file that we, or root, wrote: /tmp is everybody's. */
static int open_perf_map(module *m)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", m->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat about;
    if (fd < 0)
        return -1;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
        (about.st_uid == geteuid() || about.st_uid == 0))
        return fd;
    (void)close(fd);
    char reason[128];
    (void)snprintf(reason, sizeof reason, "'%s' is not used: owned by another user", path);
    complain(m, reason);
    return -1;
}

static void open_table(module *m)
{
    int fd =
        m->kind == MODULE_MADE ? open_perf_map(m) : open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    kino__buffer text = {0};
    kino__symbol_table *table = malloc(sizeof *table);
    if (table)
        kino__symbol_table_init(table);
    if (table && read_list(fd, &text) &&
        (m->kind == MODULE_MADE
             ? kino__symbol_table_read_perf_map(table, kino__buffer_str(&text))
             : kino__symbol_table_read_kallsyms(table, kino__buffer_str(&text)))) {
        m->table = table;
    } else if (table) {
        kino__symbol_table_deinit(table);
        free(table);
    }
    kino__buffer_deinit(&text);
    (void)close(fd);
}

static void open_module(module *m)
{
    char reason[300];
    m->opened = true;
    switch (m->kind) {
    case MODULE_FILE:
        m->elf = kino__elf_open(&m->file, reason, sizeof reason);
        if (!m->elf)
            complain(m, reason);
        break;
    case MODULE_MADE:
    case MODULE_KERNEL:
        open_table(m);
        break;
    case MODULE_NONE:
        break;
    }
}

/* ---- places ---- */

static uint32_t function_number(kino__symbols *symbols, kino__symbol_function function)
{
    uint32_t fresh = (uint32_t)symbols->by_source.count;
    uint32_t *pair =
        kino__map_put(&symbols->by_source, (uint64_t)function.name << 32 | function.file, fresh);
    if (!pair)
        return 0;
    fresh = (uint32_t)symbols->functions.count;
    uint32_t *number =
        kino__map_put(&symbols->by_function, (uint64_t)*pair << 32 | function.module, fresh);
    if (!number)
        return 0;
    if (*number == fresh) {
        kino__symbol_function *slot = kino__vec_add(&symbols->functions);
        if (!slot)
            return 0;
        *slot = function;
    }
    return *number;
}

static kino_strid add_name(kino__symbols *symbols, const char *name)
{
    char *plain = kino__demangle(&symbols->demangler, name);
    kino_str text = kino__str_from(plain ? plain : name);
    if (text.size > NAME_MAX_BYTES)
        text.size = NAME_MAX_BYTES;
    kino_strid id = kino__string_pool_add(&symbols->texts, text);
    free(plain);
    return id;
}

/* "libc.so.6+0x27140" where only the beginning of the function is known, else "[libc.so.6]". */
static kino_strid nameless(kino__symbols *symbols, const module *m, uint64_t start)
{
    kino_str name = kino__string_pool_text(&symbols->texts, m->name);
    char text[512];
    bool has_brackets = name.size && name.data[0] == '[';
    int size =
        start ? snprintf(text, sizeof text, "%.*s+0x%llx", KINO__STR_ARG(name),
                         (unsigned long long)start)
              : snprintf(text, sizeof text, has_brackets ? "%.*s" : "[%.*s]", KINO__STR_ARG(name));
    if (size < 0 || (size_t)size >= sizeof text)
        return m->name;
    return kino__string_pool_add(&symbols->texts, (kino_str){text, (size_t)size});
}

static bool add_frame(kino__symbols *symbols, const module *m, const kino__elf_frame *from,
                      uint64_t start)
{
    kino__symbol_frame *frame = kino__vec_add(&symbols->frames);
    if (!frame)
        return false;
    kino__symbol_function function = {.file = KINO_NO_STRING, .module = m->name};
    function.name = from->name ? add_name(symbols, from->name) : nameless(symbols, m, start);
    if (from->file)
        function.file = kino__string_pool_add(&symbols->texts, kino__str_from(from->file));
    *frame = (kino__symbol_frame){function_number(symbols, function), from->line};
    return true;
}

static void resolve(kino__symbols *symbols, module *m, uint64_t offset)
{
    kino__elf_frame frames[KINO__ELF_FRAMES] = {{0}};
    uint64_t start = 0;
    size_t count = 1;
    if (!m->opened)
        open_module(m);
    if (m->elf) {
        count = kino__elf_find(m->elf, offset, frames, &start);
    } else if (m->table) {
        const kino__symbol *symbol = kino__symbol_table_find(m->table, offset);
        frames[0].name = symbol ? symbol->name.data : NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (!add_frame(symbols, m, &frames[i], start))
            return;
}

uint32_t kino__symbols_find(kino__symbols *symbols, uint32_t number, uint64_t offset)
{
    if (number >= symbols->modules.count)
        return UINT32_MAX;
    module *m = &symbols->modules.items[number];
    uint32_t *known = kino__map_put(&m->places, offset, UINT32_MAX);
    if (!known)
        return UINT32_MAX;
    if (*known != UINT32_MAX)
        return *known;
    size_t first = symbols->frames.count;
    resolve(symbols, m, offset);
    place *slot = kino__vec_add(&symbols->places);
    if (!slot)
        return UINT32_MAX;
    *slot = (place){(uint32_t)first, (uint32_t)(symbols->frames.count - first)};
    return *known = (uint32_t)symbols->places.count - 1;
}

uint32_t kino__symbols_find_rule(kino__symbols *symbols, uint32_t number, uint64_t offset)
{
    if (number >= symbols->modules.count)
        return 0;
    module *m = &symbols->modules.items[number];
    if (!m->opened)
        open_module(m);
    uint32_t *known = m->elf ? kino__map_put(&m->rules, offset, 0) : NULL;
    if (!known || *known)
        return known ? *known : 0;
    kino__unwind_rule rule = kino__elf_rule(m->elf, offset);
    kino__unwind_rule *slot = kino__vec_add(&symbols->rules);
    if (!slot)
        return 0;
    *slot = rule;
    return *known = (uint32_t)symbols->rules.count - 1;
}

kino__unwind_rule kino__symbols_rule(const kino__symbols *symbols, uint32_t rule)
{
    return symbols->rules.items[rule < symbols->rules.count ? rule : 0];
}

kino__symbol_frames kino__symbols_frames(const kino__symbols *symbols, uint32_t number)
{
    if (number >= symbols->places.count)
        return (kino__symbol_frames){NULL, 0};
    place p = symbols->places.items[number];
    return (kino__symbol_frames){symbols->frames.items + p.first, p.count};
}

kino__symbol_function kino__symbols_function(const kino__symbols *symbols, uint32_t function)
{
    if (function >= symbols->functions.count)
        return (kino__symbol_function){KINO_NO_STRING, KINO_NO_STRING, KINO_NO_STRING};
    return symbols->functions.items[function];
}

bool kino__symbols_is_kernel(const kino__symbols *symbols, uint32_t function)
{
    return kino__symbols_function(symbols, function).module ==
           symbols->modules.items[KINO__MODULE_KERNEL].name;
}

kino_str kino__symbols_text(const kino__symbols *symbols, kino_strid id)
{
    return kino__string_pool_text(&symbols->texts, id);
}

bool kino__symbols_complaint(const kino__symbols *symbols, size_t index, char *text, size_t size)
{
    for (size_t i = 0; i < symbols->modules.count; i++) {
        const module *m = &symbols->modules.items[i];
        if (!m->complaint || index-- > 0)
            continue;
        if (m->kind == MODULE_MADE)
            (void)snprintf(text, size, "%s", m->complaint);
        else
            (void)snprintf(text, size, "no function names for '%.*s': %s",
                           KINO__STR_ARG(m->file.path), m->complaint);
        return true;
    }
    return false;
}
