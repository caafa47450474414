/* expression.c - integer expressions; see the header.
 *
 * Operators by their priority, each level calling the next with a limit on the depth; functions are
 * rows of one table. */
#include "cost/expression.h"

#include "cost/family.h"

typedef enum operation {
    PUSH,
    VARIABLE,
    NEGATE,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    MODULO,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    EQUAL,
    UNEQUAL,
    CALL, /* the functions follow */
} operation;

typedef enum function {
    F_SIZE,
    F_RANK,
    F_ELEMENTS,
    F_BYTES,
    F_ITEMSIZE,
    F_VALUE,
    F_ITEM,
    F_TENSORS,
    F_HAS,
    F_ALL_ELEMENTS,
    F_ALL_BYTES,
    F_BROADCAST,
    F_OUTPUT,
    F_MIN,
    F_MAX,
    F_IF,
} function;

static const struct {
    kino_str name;
    uint8_t arguments;
} functions[] = {
    [F_SIZE] = {KINO__STR("size"), 2},
    [F_RANK] = {KINO__STR("rank"), 1},
    [F_ELEMENTS] = {KINO__STR("elements"), 1},
    [F_BYTES] = {KINO__STR("bytes"), 1},
    [F_ITEMSIZE] = {KINO__STR("itemsize"), 1},
    [F_VALUE] = {KINO__STR("value"), 1},
    [F_ITEM] = {KINO__STR("item"), 2},
    [F_TENSORS] = {KINO__STR("tensors"), 1},
    [F_HAS] = {KINO__STR("has"), 1},
    [F_ALL_ELEMENTS] = {KINO__STR("all_elements"), 0},
    [F_ALL_BYTES] = {KINO__STR("all_bytes"), 0},
    [F_BROADCAST] = {KINO__STR("broadcast"), 0},
    [F_OUTPUT] = {KINO__STR("output"), 1},
    [F_MIN] = {KINO__STR("min"), 2},
    [F_MAX] = {KINO__STR("max"), 2},
    [F_IF] = {KINO__STR("if"), 3},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* -- reading -- */

enum { DEPTH_MAX = 32, STACK_MAX = 160 };

typedef struct reader {
    kino_str text;
    size_t at;
    const kino__expression_names *names;
    kino__expression_code *code;
    kino__expression_error *error;
    int depth; /* of nested parentheses and calls */
} reader;

static bool fail(reader *r, size_t at, const char *what)
{
    *r->error = (kino__expression_error){at, what};
    return false;
}

static bool emit(reader *r, unsigned code, int64_t value)
{
    kino__expression_step *step = kino__vec_add(r->code);
    if (!step)
        return fail(r, r->at, NULL);
    *step = (kino__expression_step){(uint8_t)code, value};
    return true;
}

static char peek(reader *r)
{
    while (r->at < r->text.size && (r->text.data[r->at] == ' ' || r->text.data[r->at] == '\t'))
        r->at++;
    return r->at < r->text.size ? r->text.data[r->at] : '\0';
}

static bool take(reader *r, char c)
{
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool read_comparison(reader *r);

static bool read_number(reader *r)
{
    size_t start = r->at;
    while (r->at < r->text.size && is_digit(r->text.data[r->at]))
        r->at++;
    int64_t value;
    if (!kino__str_to_int((kino_str){r->text.data + start, r->at - start}, &value))
        return fail(r, start, "the number is too large");
    return emit(r, PUSH, value);
}

static bool read_call(reader *r, kino_str name, size_t start)
{
    size_t f = 0;
    while (f < FUNCTIONS && !kino__str_equal(functions[f].name, name))
        f++;
    if (f == FUNCTIONS)
        return fail(r, start, "no function has this name");
    for (uint8_t i = 0; i < functions[f].arguments; i++) {
        if (i && !take(r, ','))
            return fail(r, r->at, "a comma and another argument are expected");
        if (!read_comparison(r))
            return false;
    }
    if (!take(r, ')'))
        return fail(r, r->at, "a closing parenthesis is expected");
    return emit(r, CALL + (unsigned)f, 0);
}

static bool read_name(reader *r)
{
    size_t start = r->at;
    while (r->at < r->text.size &&
           (is_letter(r->text.data[r->at]) || is_digit(r->text.data[r->at])))
        r->at++;
    kino_str name = {r->text.data + start, r->at - start};
    if (take(r, '('))
        return read_call(r, name, start);
    for (uint32_t i = 0; i < r->names->count; i++)
        if (kino__str_equal(r->names->items[i], name))
            return emit(r, VARIABLE, i);
    return fail(r, start, "no variable has this name");
}

static bool read_primary(reader *r)
{
    char c = peek(r);
    if (++r->depth > DEPTH_MAX)
        return fail(r, r->at, "nested too deeply");
    bool is_good;
    if (is_digit(c)) {
        is_good = read_number(r);
    } else if (is_letter(c)) {
        is_good = read_name(r);
    } else if (take(r, '(')) {
        is_good = read_comparison(r) &&
                  (take(r, ')') || fail(r, r->at, "a closing parenthesis is expected"));
    } else if (take(r, '-')) {
        is_good = read_primary(r) && emit(r, NEGATE, 0);
    } else {
        is_good = fail(r, r->at, "a number, a name or a parenthesis is expected");
    }
    r->depth--;
    return is_good;
}

static bool read_product(reader *r)
{
    if (!read_primary(r))
        return false;
    for (;;) {
        operation o = take(r, '*')   ? MULTIPLY
                      : take(r, '/') ? DIVIDE
                      : take(r, '%') ? MODULO
                                     : PUSH;
        if (o == PUSH)
            return true;
        if (!read_primary(r) || !emit(r, o, 0))
            return false;
    }
}

static bool read_sum(reader *r)
{
    if (!read_product(r))
        return false;
    for (;;) {
        operation o = take(r, '+') ? ADD : take(r, '-') ? SUBTRACT : PUSH;
        if (o == PUSH)
            return true;
        if (!read_product(r) || !emit(r, o, 0))
            return false;
    }
}

static operation take_comparison(reader *r)
{
    char c = peek(r);
    bool has_equal = r->at + 1 < r->text.size && r->text.data[r->at + 1] == '=';
    operation o = PUSH;
    if (c == '<')
        o = has_equal ? LESS_EQUAL : LESS;
    else if (c == '>')
        o = has_equal ? GREATER_EQUAL : GREATER;
    else if (has_equal && (c == '=' || c == '!'))
        o = c == '=' ? EQUAL : UNEQUAL;
    if (o != PUSH)
        r->at += has_equal ? 2 : 1;
    return o;
}

static bool read_comparison(reader *r)
{
    if (!read_sum(r))
        return false;
    operation o = take_comparison(r);
    return o == PUSH || (read_sum(r) && emit(r, o, 0));
}

bool kino__expression_compile(kino_str text, const kino__expression_names *names,
                              kino__expression_code *code, kino__expression *out,
                              kino__expression_error *error)
{
    reader r = {.text = text, .names = names, .code = code, .error = error};
    size_t first = code->count;
    *error = (kino__expression_error){0};
    if (!read_comparison(&r) || (peek(&r) != '\0' && !fail(&r, r.at, "an operator is expected")) ||
        (r.at < text.size && !fail(&r, r.at, "an operator is expected"))) {
        code->count = first;
        return false;
    }
    *out = (kino__expression){(uint32_t)first, (uint32_t)(code->count - first)};
    return true;
}

/* -- running -- */

static const kino__op_input *input_at(const kino__op_call *call, int64_t i)
{
    return i < 0 || i > UINT32_MAX ? NULL : kino__op_inputs_at(&call->inputs, (uint32_t)i);
}

static const kino__op_input *tensor_at(const kino__op_call *call, int64_t i)
{
    const kino__op_input *input = input_at(call, i);
    return input && input->is_tensor ? input : NULL;
}

/* A size by its place, from the end where it is negative. */
static int64_t pick_size(const int64_t *sizes, uint32_t rank, int64_t at)
{
    int64_t place = at < 0 && at >= -(int64_t)rank ? at + rank : at;
    return place < 0 || place >= rank ? KINO_NO_INT : sizes[place];
}

/* Elements or bytes of an argument: of a list, of all its tensors. */
static int64_t measure(const kino__op_call *call, int64_t argument, bool in_bytes)
{
    const kino__op_inputs *inputs = &call->inputs;
    int64_t total = 0;
    bool has_any = false;
    for (size_t i = 0; i < inputs->items.count; i++) {
        const kino__op_input *input = &inputs->items.items[i];
        bool is_wanted = argument == KINO_NO_INT || (int64_t)input->argument == argument;
        if (!input->is_tensor || !is_wanted)
            continue;
        int64_t own = kino__op_input_elements(inputs, input);
        if (in_bytes)
            own = kino__cost_bytes_of(own, input->dtype);
        total = kino__cost_add(total, own);
        has_any = true;
    }
    return has_any ? total : KINO_NO_INT;
}

static int64_t count_tensors(const kino__op_call *call, int64_t argument)
{
    int64_t count = 0;
    for (size_t i = 0; i < call->inputs.items.count; i++)
        count += call->inputs.items.items[i].is_tensor &&
                 (int64_t)call->inputs.items.items[i].argument == argument;
    return count;
}

static int64_t item_of(const kino__op_call *call, int64_t argument, int64_t at)
{
    int64_t values[KINO__COST_RANK_MAX];
    uint32_t count = 0;
    const kino__op_input *input = input_at(call, argument);
    if (!input || !kino__op_input_to_ints(input, values, KINO__COST_RANK_MAX, &count))
        return KINO_NO_INT;
    return pick_size(values, count, at);
}

static int64_t value_of(const kino__op_call *call, int64_t argument)
{
    const kino__op_input *input = input_at(call, argument);
    int64_t number;
    bool is_true;
    if (input && kino__op_input_to_int(input, &number))
        return number;
    return input && kino__op_input_to_bool(input, &is_true) ? is_true : KINO_NO_INT;
}

static int64_t size_of(const kino__op_call *call, int64_t argument, int64_t at)
{
    const kino__op_input *tensor = tensor_at(call, argument);
    return tensor ? pick_size(kino__op_input_sizes(&call->inputs, tensor), tensor->size_count, at)
                  : KINO_NO_INT;
}

static int64_t of_tensor(const kino__op_call *call, function f, int64_t argument)
{
    const kino__op_input *tensor = tensor_at(call, argument);
    if (f == F_HAS)
        return tensor != NULL;
    if (!tensor)
        return KINO_NO_INT;
    if (f == F_RANK)
        return tensor->size_count;
    return tensor->dtype == KINO__DTYPE_NONE ? KINO_NO_INT : kino__dtype_bytes(tensor->dtype);
}

/* The arguments are at a[0], a[1], ... */
static int64_t call_function(const kino__op_call *call, function f, const int64_t *a)
{
    kino__cost_ask ask = {.call = call};
    switch (f) {
    case F_SIZE:
        return size_of(call, a[0], a[1]);
    case F_RANK:
    case F_ITEMSIZE:
    case F_HAS:
        return of_tensor(call, f, a[0]);
    case F_ELEMENTS:
        return a[0] == KINO_NO_INT ? KINO_NO_INT : measure(call, a[0], false);
    case F_BYTES:
        return a[0] == KINO_NO_INT ? KINO_NO_INT : measure(call, a[0], true);
    case F_VALUE:
        return value_of(call, a[0]);
    case F_ITEM:
        return item_of(call, a[0], a[1]);
    case F_TENSORS:
        return count_tensors(call, a[0]);
    case F_ALL_ELEMENTS:
        return measure(call, KINO_NO_INT, false);
    case F_ALL_BYTES:
        return measure(call, KINO_NO_INT, true);
    case F_BROADCAST:
        return kino__cost_broadcast(&ask);
    case F_OUTPUT:
        return call->output_sizes ? pick_size(call->output_sizes, call->output_rank, a[0])
                                  : KINO_NO_INT;
    case F_MIN:
    case F_MAX:
        if (a[0] == KINO_NO_INT || a[1] == KINO_NO_INT)
            return KINO_NO_INT;
        return (a[0] < a[1]) == (f == F_MIN) ? a[0] : a[1];
    case F_IF:
        return a[0] == KINO_NO_INT ? KINO_NO_INT : a[0] ? a[1] : a[2];
    }
    return KINO_NO_INT;
}

/* Neither operand is KINO_NO_INT, so that the smallest number over -1 does not come up. */
static int64_t divide(int64_t a, int64_t b, bool is_modulo)
{
    if (b == 0)
        return KINO_NO_INT;
    if (a == INT64_MAX)
        return INT64_MAX;
    return is_modulo ? a % b : a / b;
}

static int64_t combine(unsigned code, int64_t a, int64_t b)
{
    if (a == KINO_NO_INT || b == KINO_NO_INT)
        return KINO_NO_INT;
    switch ((operation)code) {
    case ADD:
        return kino__cost_add(a, b);
    case SUBTRACT:
        return kino__cost_add(a, -b);
    case MULTIPLY:
        return kino__cost_mul(a, b);
    case DIVIDE:
        return divide(a, b, false);
    case MODULO:
        return divide(a, b, true);
    case LESS:
        return a < b;
    case LESS_EQUAL:
        return a <= b;
    case GREATER:
        return a > b;
    case GREATER_EQUAL:
        return a >= b;
    case EQUAL:
        return a == b;
    case UNEQUAL:
        return a != b;
    default:
        return KINO_NO_INT;
    }
}

int64_t kino__expression_run(const kino__expression_code *code, kino__expression expression,
                             const kino__op_call *call, const int64_t *variables)
{
    int64_t stack[STACK_MAX];
    size_t top = 0;
    for (uint32_t i = 0; i < expression.count; i++) {
        const kino__expression_step *step = &code->items[expression.first + i];
        int64_t result;
        if (step->operation == PUSH) {
            result = step->value;
        } else if (step->operation == VARIABLE) {
            result = variables[step->value];
        } else if (step->operation == NEGATE) {
            top--;
            result = stack[top] == KINO_NO_INT ? KINO_NO_INT : -stack[top];
        } else if (step->operation >= CALL) {
            function f = (function)(step->operation - CALL);
            top -= functions[f].arguments;
            result = call_function(call, f, stack + top);
        } else {
            top -= 2;
            result = combine(step->operation, stack[top], stack[top + 1]);
        }
        if (top == STACK_MAX)
            return KINO_NO_INT; /* deeper than anything that DEPTH_MAX allows */
        stack[top++] = result;
    }
    return top ? stack[0] : KINO_NO_INT;
}
