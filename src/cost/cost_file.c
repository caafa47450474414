/* cost_file.c - families of the user; see the header.
 *
 * A line is a statement: its first word says which, the rest is names or an expression. */
#include "cost/cost_file.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "cost/family.h"

enum { FILE_MAX = 1 << 20, FLOPS = 0, READ, WRITTEN, FIGURES };

typedef struct parser {
    kino__cost_files *files;
    const char *file;
    kino_error *err;
    const char *family;
    kino_str line; /* without comment */
    uint32_t number;
    kino_str names[KINO__EXPRESSION_VARIABLES]; /* of `let` in this operator */
    uint32_t name_count;
    bool has_rule;
} parser;

static kino_status fail(const parser *p, size_t column, const char *what)
{
    return kino__fail_file(p->err, KINO_FORMAT, "read", p->file, "line %u, column %zu: %s",
                           p->number, column + 1, what);
}

static kino_status out_of_memory(const parser *p)
{
    return kino__fail_nomem(p->err);
}

/* -- words -- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word from *at on; of no size at the end of the line. */
static kino_str next_word(kino_str line, size_t *at)
{
    while (*at < line.size && is_blank(line.data[*at]))
        (*at)++;
    size_t start = *at;
    while (*at < line.size && !is_blank(line.data[*at]))
        (*at)++;
    return (kino_str){line.data + start, *at - start};
}

static bool is_name(kino_str word)
{
    for (size_t i = 0; i < word.size; i++) {
        char c = word.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return word.size > 0;
}

/* -- statements -- */

static kino__cost_rule *rule_of(parser *p)
{
    return p->has_rule ? &p->files->rules.items[p->files->rules.count - 1] : NULL;
}

/* The end of the line is here. */
static kino_status expect_end(const parser *p, size_t at)
{
    kino_str word = next_word(p->line, &at);
    return word.size ? fail(p, (size_t)(word.data - p->line.data), "nothing more is expected here")
                     : KINO_OK;
}

/* = EXPRESSION */
static kino_status read_expression(parser *p, size_t at, kino__expression *out)
{
    kino__expression_names names = {p->names, p->name_count};
    kino__expression_error problem;
    while (at < p->line.size && is_blank(p->line.data[at]))
        at++;
    if (at == p->line.size || p->line.data[at] != '=')
        return fail(p, at, "'=' and an expression are expected");
    at++;
    kino_str text = {p->line.data + at, p->line.size - at};
    if (kino__expression_compile(text, &names, &p->files->code, out, &problem))
        return KINO_OK;
    return problem.what ? fail(p, at + problem.at, problem.what) : out_of_memory(p);
}

static kino_status read_family(parser *p, size_t at)
{
    kino_str word = next_word(p->line, &at);
    if (!is_name(word))
        return fail(p, (size_t)(word.data - p->line.data), "the name of a family is expected");
    kino_str copy = kino__arena_copy(&p->files->arena, word);
    if (!copy.data)
        return out_of_memory(p);
    p->family = copy.data;
    p->has_rule = false;
    return expect_end(p, at);
}

static kino_status add_name(parser *p, kino_str word)
{
    kino__cost_rule_name *name = kino__vec_add(&p->files->names);
    kino_str copy = kino__arena_copy(&p->files->arena, word);
    if (!name || !copy.data)
        return out_of_memory(p);
    *name = (kino__cost_rule_name){copy, (uint32_t)p->files->rules.count - 1};
    return KINO_OK;
}

static kino_status read_op(parser *p, size_t at)
{
    size_t first = at;
    kino_str word = next_word(p->line, &at);
    if (word.size == 0)
        return fail(p, first, "the name of an operator is expected");
    kino__cost_rule *rule = kino__vec_add(&p->files->rules);
    if (!rule)
        return out_of_memory(p);
    *rule = (kino__cost_rule){.family = p->family ? p->family : "user",
                              .role = KINO__COST_PRIMITIVE,
                              .first_let = (uint32_t)p->files->lets.count,
                              .line = p->number};
    p->has_rule = true;
    p->name_count = 0;
    for (; word.size; word = next_word(p->line, &at))
        KINO_TRY(add_name(p, word));
    return KINO_OK;
}

static kino_status read_let(parser *p, size_t at)
{
    kino_str word = next_word(p->line, &at);
    size_t column = (size_t)(word.data - p->line.data);
    if (!is_name(word))
        return fail(p, column, "the name of a variable is expected");
    if (p->name_count == KINO__EXPRESSION_VARIABLES)
        return fail(p, column, "there are too many variables");
    kino__expression expression;
    KINO_TRY(read_expression(p, at, &expression));
    kino__expression *slot = kino__vec_add(&p->files->lets);
    if (!slot)
        return out_of_memory(p);
    *slot = expression;
    p->names[p->name_count++] = word;
    rule_of(p)->let_count++;
    return KINO_OK;
}

static kino_status read_figure(parser *p, size_t at, int figure)
{
    if (rule_of(p)->figures[figure].count)
        return fail(p, 0, "the operator has this figure already");
    return read_expression(p, at, &rule_of(p)->figures[figure]);
}

static kino_status read_precision(parser *p, size_t at)
{
    kino_str word = next_word(p->line, &at);
    int64_t argument;
    if (!kino__str_to_int(word, &argument) || argument < 0 || argument > UINT16_MAX)
        return fail(p, (size_t)(word.data - p->line.data), "the number of an argument is expected");
    rule_of(p)->precision = (uint32_t)argument;
    return expect_end(p, at);
}

static kino_status read_line(parser *p)
{
    static const char *const figures[FIGURES] = {"flops", "read", "written"};
    size_t at = 0;
    kino_str word = next_word(p->line, &at);
    size_t column = (size_t)(word.data - p->line.data);
    if (word.size == 0)
        return KINO_OK;
    if (kino__str_is(word, "family"))
        return read_family(p, at);
    if (kino__str_is(word, "op"))
        return read_op(p, at);
    if (!rule_of(p))
        return fail(p, column, "'family NAME' or 'op NAME' is expected");
    if (kino__str_is(word, "let"))
        return read_let(p, at);
    if (kino__str_is(word, "precision"))
        return read_precision(p, at);
    for (int i = 0; i < FIGURES; i++) {
        size_t size = strlen(figures[i]);
        if (kino__str_is(word, figures[i]) || (word.size > size && word.data[size] == '=' &&
                                               memcmp(word.data, figures[i], size) == 0))
            return read_figure(p, column + size, i);
    }
    if (kino__str_is(word, "matrix"))
        rule_of(p)->is_matrix = true;
    else if (kino__str_is(word, "composite"))
        rule_of(p)->role = KINO__COST_COMPOSITE;
    else
        return fail(p, column,
                    "expected family, op, let, flops, read, written, precision, matrix or "
                    "composite");
    return expect_end(p, at);
}

/* -- files -- */

static int by_name(const void *a, const void *b)
{
    return kino__str_compare(((const kino__cost_rule_name *)a)->name,
                             ((const kino__cost_rule_name *)b)->name);
}

/* An operator has one rule, and a rule says something. */
static kino_status check_rules(parser *p, size_t first_rule)
{
    kino__cost_files *files = p->files;
    for (size_t i = first_rule; i < files->rules.count; i++) {
        p->number = files->rules.items[i].line;
        if (files->rules.items[i].figures[FLOPS].count == 0)
            return fail(p, 0, "the operator has no flops");
    }
    if (files->names.count)
        qsort(files->names.items, files->names.count, sizeof *files->names.items, by_name);
    for (size_t i = 1; i < files->names.count; i++) {
        const kino__cost_rule_name *name = &files->names.items[i];
        if (by_name(name - 1, name) != 0)
            continue;
        uint32_t last = name->rule > name[-1].rule ? name->rule : name[-1].rule;
        p->number = files->rules.items[last].line;
        return fail(p, 0, "the operator is there twice");
    }
    return KINO_OK;
}

kino_status kino__cost_files_parse(kino__cost_files *files, const char *name, kino_str text,
                                   kino_error *err)
{
    parser p = {.files = files, .file = name, .err = err};
    size_t first_rule = files->rules.count;
    for (size_t at = 0; at < text.size;) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        size_t size = end ? (size_t)(end - text.data) - at : text.size - at;
        p.line = (kino_str){text.data + at, size};
        p.number++;
        const char *comment = size ? memchr(p.line.data, '#', size) : NULL;
        if (comment)
            p.line.size = (size_t)(comment - p.line.data);
        KINO_TRY(read_line(&p));
        at += size + 1;
    }
    return check_rules(&p, first_rule);
}

kino_status kino__cost_files_read(kino__cost_files *files, const char *path, kino_error *err)
{
    kino__file file;
    KINO_TRY(kino__file_open(path, &file, err));
    kino_status status =
        file.size > FILE_MAX
            ? kino__fail_file(err, KINO_FORMAT, "read", path, "files with costs have at most 1 MiB")
            : kino__cost_files_parse(files, path, (kino_str){file.data, file.size}, err);
    kino__file_close(&file);
    return status;
}

void kino__cost_files_deinit(kino__cost_files *files)
{
    kino__vec_deinit(&files->rules);
    kino__vec_deinit(&files->names);
    kino__vec_deinit(&files->lets);
    kino__vec_deinit(&files->code);
    kino__arena_deinit(&files->arena);
}

/* -- questions -- */

static const kino__cost_rule *find_name(const kino__cost_files *files, kino_str name)
{
    kino__cost_rule_name key = {.name = name};
    if (files->names.count == 0)
        return NULL;
    const kino__cost_rule_name *found =
        bsearch(&key, files->names.items, files->names.count, sizeof key, by_name);
    return found ? &files->rules.items[found->rule] : NULL;
}

/* By the whole name, else by the bare one. */
static const kino__cost_rule *find_rule(const kino__cost_files *files, kino_str name)
{
    const kino__cost_rule *rule = find_name(files, name);
    return rule ? rule : find_name(files, kino__op_bare_name(name));
}

bool kino__cost_files_role(const kino__cost_files *files, kino_str name, kino__cost_role *role)
{
    const kino__cost_rule *rule = find_rule(files, name);
    if (rule)
        *role = rule->role;
    return rule != NULL;
}

/* A figure that is negative is a mistake of the file. */
static int64_t figure_of(const kino__cost_files *files, const kino__cost_rule *rule, int figure,
                         const kino__op_call *call, const int64_t *variables)
{
    if (rule->figures[figure].count == 0)
        return KINO_NO_INT;
    int64_t value = kino__expression_run(&files->code, rule->figures[figure], call, variables);
    return value < 0 ? KINO_NO_INT : value;
}

bool kino__cost_files_compute(const kino__cost_files *files, const kino__op_call *call,
                              kino__cost *cost)
{
    const kino__cost_rule *rule = find_rule(files, call->name);
    int64_t variables[KINO__EXPRESSION_VARIABLES], figures[FIGURES];
    if (!rule)
        return false;
    for (uint32_t i = 0; i < rule->let_count; i++)
        variables[i] = kino__expression_run(&files->code, files->lets.items[rule->first_let + i],
                                            call, variables);
    for (int i = 0; i < FIGURES; i++)
        figures[i] = figure_of(files, rule, i, call, variables);
    const kino__op_input *typed = kino__op_inputs_at(&call->inputs, rule->precision);
    kino__cost_set(cost, figures[FLOPS], figures[READ], figures[WRITTEN],
                   typed ? typed->dtype : KINO__DTYPE_NONE);
    cost->is_matrix = rule->is_matrix;
    cost->family = rule->family;
    if (figures[FLOPS] == KINO_NO_INT)
        cost->reason = "the file with costs does not say for these inputs";
    return true;
}
