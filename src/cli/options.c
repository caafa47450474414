/* options.c - parsing by table, and everything that is printed from the tables. */
#include "cli/options.h"

#include <stdio.h>

#include "base/error.h"

enum { MOST_RANKS = 1 << 16, MOST_NAMES = 64, LONGEST_WORD = 32, LONGEST_CHOICES = 128 };

const kino__option *kino__option_at(const kino__option_set *set, size_t index)
{
    for (size_t t = 0; t < KINO__OPTION_TABLES && set->tables[t]; t++)
        for (const kino__option *o = set->tables[t]; o->name; o++)
            if (index-- == 0)
                return o;
    return NULL;
}

void kino__option_set_add(kino__option_set *set, const kino__option *table)
{
    if (!table)
        return;
    memmove(&set->tables[1], &set->tables[0], (KINO__OPTION_TABLES - 1) * sizeof *set->tables);
    set->tables[0] = table;
}

static const kino__option *find(const kino__option_set *set, kino_str name)
{
    const kino__option *option;
    for (size_t i = 0; (option = kino__option_at(set, i)); i++)
        if (kino__str_is(name, option->name))
            return option;
    return NULL;
}

/* Has an earlier table an option of this name? */
static bool is_replaced(const kino__option_set *set, const kino__option *option)
{
    return find(set, kino__str_from(option->name)) != option;
}

/* -- suggestions -- */

/* How many letters must be changed, added, dropped or swapped with their neighbour; words are
 * short. */
static unsigned distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST_WORD || m > LONGEST_WORD)
        return 1000;
    unsigned rows[3][LONGEST_WORD + 1]; /* of the two letters before, the letter before, this one */
    for (unsigned j = 0; j <= m; j++)
        rows[1][j] = j;
    for (unsigned i = 1; i <= n; i++) {
        unsigned *now = rows[2];
        now[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            unsigned best = rows[1][j - 1] + (a[i - 1] != b[j - 1]);
            best = rows[1][j] + 1 < best ? rows[1][j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                rows[0][j - 2] + 1 < best)
                best = rows[0][j - 2] + 1;
            now[j] = best;
        }
        memcpy(rows[0], rows[1], sizeof rows[0]);
        memcpy(rows[1], rows[2], sizeof rows[1]);
    }
    return rows[1][m];
}

const char *kino__suggest(const char *typed, const char *const *words)
{
    const char *best = NULL;
    size_t length = strlen(typed);
    unsigned least = length <= 3 ? 2 : 3; /* fewer than this are a typing error */
    for (; *words; words++) {
        unsigned d = distance(typed, *words);
        if (length >= 2 && strncmp(typed, *words, length) == 0)
            d = d < 1 ? d : 1; /* the beginning of it */
        if (d < least) {
            least = d;
            best = *words;
        }
    }
    return best;
}

static kino_status fail_unknown(const kino__option_set *set, const char *argument, kino_error *err)
{
    const char *words[MOST_NAMES + 1] = {NULL};
    const kino__option *option;
    size_t count = 0;
    for (size_t i = 0; (option = kino__option_at(set, i)) && count < MOST_NAMES; i++)
        if (!option->is_hidden)
            words[count++] = option->name;
    char typed[LONGEST_WORD + 2];
    const char *name = argument + strspn(argument, "-");
    (void)snprintf(typed, sizeof typed, "%.*s", (int)strcspn(name, "="), name);
    const char *meant = kino__suggest(typed, words);
    if (meant)
        return kino__fail(err, KINO_ARGUMENT, "unknown option '%s' (did you mean '--%s'?)",
                          argument, meant);
    return kino__fail(err, KINO_ARGUMENT, "unknown option '%s'", argument);
}

/* -- values -- */

static bool parse_count(kino_str text, uint64_t most, uint64_t *out)
{
    int64_t value;
    if (!kino__str_to_int(text, &value) || value < 0 || (uint64_t)value > most ||
        text.data[0] == '-')
        return false;
    *out = (uint64_t)value;
    return true;
}

/* "12.5" as a whole number of 1/1000; at most nine digits before the point. */
static bool parse_thousandths(kino_str text, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0, decimals = 0, digits = 0;
    for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++, digits++)
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    if (digits == 0 || digits > 9)
        return false;
    if (i < text.size && text.data[i] == '.') {
        for (i++; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
            if (decimals < 3) {
                value = value * 10 + (uint64_t)(text.data[i] - '0');
                decimals++;
            }
        }
    }
    for (; decimals < 3; decimals++)
        value *= 10;
    *out = value;
    return i == text.size;
}

static bool parse_size(kino_str text, uint64_t *out)
{
    static const struct {
        const char *name;
        uint64_t factor;
    } units[] = {{"KiB", 1ull << 10},
                 {"MiB", 1ull << 20},
                 {"GiB", 1ull << 30},
                 {"kB", 1000},
                 {"KB", 1000},
                 {"MB", 1000000},
                 {"GB", 1000000000},
                 {"TB", 1000000000000},
                 {"k", 1000},
                 {"K", 1000},
                 {"M", 1000000},
                 {"G", 1000000000},
                 {"B", 1}};
    uint64_t factor = 1, thousandths;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        kino_str unit = kino__str_from(units[i].name);
        if (text.size > unit.size && kino__str_ends_with(text, unit)) {
            factor = units[i].factor;
            text.size -= unit.size;
            break;
        }
    }
    if (factor == 1)
        return parse_count(text, INT64_MAX, out);
    if (!parse_thousandths(text, &thousandths))
        return false;
    __uint128_t bytes = (__uint128_t)thousandths * factor / 1000;
    *out = (uint64_t)bytes;
    return bytes <= INT64_MAX;
}

static bool parse_seconds(kino_str text, unsigned *out)
{
    uint64_t milliseconds;
    if (text.size > 1 && text.data[text.size - 1] == 's')
        text.size--;
    if (!parse_thousandths(text, &milliseconds) || milliseconds > UINT32_MAX)
        return false;
    *out = (unsigned)milliseconds;
    return true;
}

/* "0,2-5": false when it is not such a list. */
static bool parse_ranks(kino_str text, kino__ranks *out)
{
    out->items.count = 0;
    while (text.size) {
        const char *comma = memchr(text.data, ',', text.size);
        kino_str part = {text.data, comma ? (size_t)(comma - text.data) : text.size};
        const char *dash = part.size ? memchr(part.data, '-', part.size) : NULL;
        kino_str low = {part.data, dash ? (size_t)(dash - part.data) : part.size};
        kino_str high = dash ? (kino_str){dash + 1, part.size - low.size - 1} : low;
        uint64_t first, last;
        if (!low.size || !high.size || !parse_count(low, INT32_MAX, &first) ||
            !parse_count(high, INT32_MAX, &last) || last < first || last - first >= MOST_RANKS)
            return false;
        for (uint64_t rank = first; rank <= last; rank++) {
            int64_t *slot = out->items.count < MOST_RANKS ? kino__vec_add(&out->items) : NULL;
            if (!slot)
                return false;
            *slot = (int64_t)rank;
        }
        if (!comma)
            return true;
        text.size -= part.size + 1;
        text.data = comma + 1;
    }
    return false;
}

/* Is the text one of the words of "a|b|c"? */
static bool is_choice(const char *words, kino_str text)
{
    while (*words) {
        size_t size = strcspn(words, "|");
        if (kino__str_equal(text, (kino_str){words, size}))
            return true;
        words += size + (words[size] == '|');
    }
    return false;
}

/* "a, b or c" for "a|b|c". */
static const char *list_choices(const char *words, char *out, size_t size)
{
    size_t used = 0;
    for (const char *at = words; *at; at++) {
        const char *text = *at != '|' ? (char[]){*at, 0} : strchr(at + 1, '|') ? ", " : " or ";
        used += (size_t)snprintf(out + used, size - used, "%s", text);
        if (used >= size)
            return words;
    }
    return out;
}

static const char switch_words[] = "yes|no|on|off|true|false";

static kino_status set_value(const kino__option *option, const char *text, void *target,
                             kino_error *err)
{
    void *field = (char *)target + option->offset;
    kino_str value = kino__str_from(text);
    uint64_t count = 0;
    bool good = true;
    const char *wanted = "a number";
    char choices[LONGEST_CHOICES];
    switch (option->kind) {
    case KINO__OPTION_FLAG:
        *(bool *)field = true;
        break;
    case KINO__OPTION_TEXT:
        *(const char **)field = text;
        break;
    case KINO__OPTION_SWITCH:
        good = is_choice(switch_words, value);
        wanted = "yes or no";
        if (good)
            *(const char **)field = text;
        break;
    case KINO__OPTION_CHOICE:
        good = is_choice(option->argument, value);
        wanted = list_choices(option->argument, choices, sizeof choices);
        if (good)
            *(const char **)field = text;
        break;
    case KINO__OPTION_UINT:
        good = parse_count(value, INT32_MAX, &count);
        if (good)
            *(unsigned *)field = (unsigned)count;
        break;
    case KINO__OPTION_COUNT:
        good = parse_count(value, INT64_MAX, &count);
        if (good)
            *(uint64_t *)field = count;
        break;
    case KINO__OPTION_SIZE:
        good = parse_size(value, &count);
        wanted = "a size such as 200MB";
        if (good)
            *(uint64_t *)field = count;
        break;
    case KINO__OPTION_SECONDS:
        good = parse_seconds(value, field);
        wanted = "a time in seconds";
        break;
    case KINO__OPTION_RANKS:
        good = parse_ranks(value, field);
        wanted = "a list such as 0,2-5";
        break;
    case KINO__OPTION_TEXTS:
        good = ((kino__option_texts *)field)->count < KINO__MOST_TEXTS;
        wanted = "at most 32 values";
        if (good)
            ((kino__option_texts *)field)->items[((kino__option_texts *)field)->count++] = text;
        break;
    }
    if (good)
        return KINO_OK;
    return kino__fail(err, KINO_ARGUMENT, "invalid value '%s' for --%s (expected: %s)", text,
                      option->name, wanted);
}

/* -- parsing -- */

kino_status kino__options_parse(const kino__option_set *set, void *target, char **arguments,
                                size_t count, size_t *positional_count, kino_error *err)
{
    *positional_count = 0;
    bool only_positional = false;
    for (size_t i = 0; i < count; i++) {
        char *argument = arguments[i];
        if (only_positional || argument[0] != '-' || argument[1] == 0) {
            arguments[(*positional_count)++] = argument;
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            only_positional = true;
            continue;
        }
        if (strcmp(argument, "-h") == 0)
            argument = "--help";
        else if (strcmp(argument, "-o") == 0)
            argument = "--output";
        if (argument[1] != '-')
            return fail_unknown(set, argument, err);
        size_t size = strcspn(argument + 2, "=");
        const kino__option *option = find(set, (kino_str){argument + 2, size});
        const char *value = argument[2 + size] == '=' ? argument + 2 + size + 1 : NULL;
        if (!option)
            return fail_unknown(set, argument, err);
        if (option->kind == KINO__OPTION_FLAG && value)
            return kino__fail(err, KINO_ARGUMENT, "option --%s does not take a value",
                              option->name);
        if (option->kind == KINO__OPTION_SWITCH && !value) {
            bool has_word =
                i + 1 < count && is_choice(switch_words, kino__str_from(arguments[i + 1]));
            value = has_word ? arguments[++i] : "yes";
        }
        if (option->kind != KINO__OPTION_FLAG && !value) {
            if (i + 1 == count)
                return kino__fail(err, KINO_ARGUMENT, "option --%s requires a value: %s",
                                  option->name, option->argument);
            value = arguments[++i];
        }
        KINO_TRY(set_value(option, value, target, err));
    }
    return KINO_OK;
}

/* -- printing -- */

/* "--format table|json|csv|md" */
static void print_name(kino__buffer *out, const kino__option *option)
{
    kino__buffer_printf(out, "--%s", option->name);
    if (option->argument)
        kino__buffer_printf(out, " %s", option->argument);
}

/* Appends words with line breaks, so that no line is longer than 80 columns; lines after the first
 * are indented. */
static void add_wrapped(kino__buffer *out, const char *text, size_t indent)
{
    size_t column = indent;
    while (*text) {
        size_t size = strcspn(text, " ");
        if (column + size > 80 && column > indent) {
            kino__buffer_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        kino__buffer_add(out, (kino_str){text, size});
        column += size;
        text += size;
        if (*text == ' ') {
            text++;
            if (*text && column + 1 + strcspn(text, " ") <= 80)
                kino__buffer_add(out, KINO__STR(" "));
            column++;
        }
    }
}

void kino__options_print_help(kino__buffer *out, const kino__option_set *set)
{
    enum { HELP_COLUMN = 30 };
    const kino__option *option;
    for (size_t i = 0; (option = kino__option_at(set, i)); i++) {
        if (option->is_hidden || is_replaced(set, option))
            continue;
        size_t start = out->size;
        kino__buffer_add(out, KINO__STR("  "));
        print_name(out, option);
        size_t used = out->size - start;
        if (used + 2 > HELP_COLUMN)
            kino__buffer_printf(out, "\n%*s", HELP_COLUMN, "");
        else
            kino__buffer_printf(out, "%*s", (int)(HELP_COLUMN - used), "");
        add_wrapped(out, option->help, HELP_COLUMN);
        kino__buffer_add(out, KINO__STR("\n"));
    }
}

void kino__options_print_manual(kino__buffer *out, const kino__option_set *set, bool hidden)
{
    const kino__option *option;
    bool is_first = true;
    for (size_t i = 0; (option = kino__option_at(set, i)); i++) {
        if (option->is_hidden != hidden || is_replaced(set, option))
            continue;
        kino__buffer_printf(out, "%s**\\-\\-%s**", is_first ? "" : "\n", option->name);
        if (option->argument && option->kind == KINO__OPTION_CHOICE)
            kino__buffer_printf(out, " `%s`", option->argument);
        else if (option->argument)
            kino__buffer_printf(out, " *%s*", option->argument);
        kino__buffer_printf(out, "\n:   %s\n", option->help);
        is_first = false;
    }
}
