/* redact_names.c - names as a whole: those that the framework gives are kept, the others become
 * tokens. */
#include <ctype.h>
#include <strings.h>

#include "base/json_chars.h"
#include "names/allocator_words.h"
#include "names/communication.h"
#include "transform/redact_text.h"

/* -- whole values */

/* Numbers and literals tell nothing. */
static bool is_plain_value(kino_str text)
{
    static const char *const literals[] = {"true",
                                           "false",
                                           "True",
                                           "False",
                                           "None",
                                           "null",
                                           "nan",
                                           "NaN",
                                           "inf",
                                           "N/A",
                                           "",
                                           "on",
                                           "off",
                                           "critical_path_operator",
                                           "critical_path_dependency",
                                           "critical_path_sync_dependency",
                                           "critical_path_kernel_launch_delay",
                                           "critical_path_kernel_kernel_delay",
                                           "Parameter", /* what memory is for */
                                           "Optimizer state",
                                           "Input",
                                           "Temporary",
                                           "Activation",
                                           "Gradient",
                                           "Autograd",
                                           "Unknown",
                                           "default_pg",
                                           "undefined"};
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++)
        if (kino__str_is(text, literals[i]))
            return true;
    if (kino__is_allocator_word(text))
        return true;
    size_t i = 0;
    if (text.size > 2 && text.data[0] == '0' && text.data[1] == 'x') {
        for (i = 2; i < text.size && kino__is_hex_digit(text.data[i]);)
            i++;
        return i == text.size;
    }
    bool has_digit = false;
    for (; i < text.size; i++) {
        bool is_digit = isdigit((unsigned char)text.data[i]);
        if (!is_digit && !strchr("+-.eE, []", text.data[i]))
            return false;
        has_digit |= is_digit;
    }
    return has_digit && !kino__redact_is_address(text);
}

static bool redact_value(const kino__redactor *r, const char *what, kino_str text,
                         kino__buffer *out)
{
    if (is_plain_value(text)) {
        kino__buffer_add(out, text);
        return false;
    }
    kino__redact_token(r, what, text, out);
    return true;
}

/* -- names that a framework gives */

static bool is_all_digits(kino_str text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!isdigit((unsigned char)text.data[i]))
            return false;
    return text.size > 0;
}

static kino_str behind(kino_str text, size_t count)
{
    return (kino_str){text.data + count, text.size - count};
}

/* Splits at everything that is no letter, digit or underscore; are all words numbers or in the
 * list? */
static bool has_only_words(kino_str text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < text.size;) {
        size_t start = i;
        while (i < text.size && (kino__redact_is_word(text.data[i]) || text.data[i] == '_'))
            i++;
        kino_str word = {text.data + start, i - start};
        bool is_known = word.size == 0 || is_all_digits(word);
        while (!is_known && word.size && isdigit((unsigned char)word.data[word.size - 1]))
            word.size--; /* python3, pt_autograd_0 */
        for (size_t k = 0; k < count && !is_known; k++)
            is_known =
                strlen(words[k]) == word.size && strncasecmp(word.data, words[k], word.size) == 0;
        if (!is_known)
            return false;
        i += i < text.size;
    }
    return true;
}

static bool is_known_class(kino_str text)
{
    static const char *const words[] = {"SGD",
                                        "Adam",
                                        "AdamW",
                                        "Adamax",
                                        "Adagrad",
                                        "Adadelta",
                                        "RMSprop",
                                        "Rprop",
                                        "LBFGS",
                                        "ASGD",
                                        "NAdam",
                                        "RAdam",
                                        "SparseAdam",
                                        "FusedAdam",
                                        "step",
                                        "zero_grad",
                                        "__next__",
                                        "_SingleProcessDataLoaderIter",
                                        "_MultiProcessingDataLoaderIter",
                                        "forward",
                                        "backward"};
    return has_only_words(text, words, sizeof words / sizeof *words);
}

/* Names of counters and arrows that are added to traces (overlay.h). */
static bool is_overlay_name(kino_str text)
{
    static const char *const words[] = {
        "critical_path", "Queue",     "Length", "GPU",    "CPU",    "Device", "Utilization",
        "Memory",        "Allocated", "Memcpy", "Memset", "HtoD",   "DtoH",   "DtoD",
        "HtoH",          "PtoP",      "HtoA",   "AtoH",   "Unknown"};
    return has_only_words(text, words, sizeof words / sizeof *words);
}

/* Names of PyTorch's own annotations. What they add (a class, a number) is judged apart. */
static bool redact_framework(const kino__redactor *r, kino_str text, kino__buffer *out,
                             bool *is_changed)
{
    static const kino_str whole[] = {
        KINO__STR("[memory]"), KINO__STR("[OutOfMemory]"), KINO__STR("Record Window End"),
        KINO__STR("Iteration Start: PyTorch Profiler"), KINO__STR("PyTorch Profiler (0)"),
        /* actions of the memory timeline */
        KINO__STR("preexisting"), KINO__STR("create"), KINO__STR("increment_version"),
        KINO__STR("destroy")};
    static const kino_str prefixes[] = {KINO__STR("ProfilerStep#"),
                                        KINO__STR("Optimizer.step#"),
                                        KINO__STR("Optimizer.zero_grad#"),
                                        KINO__STR("enumerate(DataLoader)#"),
                                        KINO__STR("DistributedDataParallel."),
                                        KINO__STR("FullyShardedDataParallel."),
                                        KINO__STR("DataParallel.")};
    *is_changed = false;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (kino__str_equal(text, whole[i])) {
            kino__buffer_add(out, text);
            return true;
        }
    }
    if (is_overlay_name(text)) {
        kino__buffer_add(out, text);
        return true;
    }
    if (kino__comm_of_span(text).kind == KINO__COMM_CARRIES) {
        *is_changed = kino__redact_parts(r, text, out);
        return true;
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (!kino__str_starts_with(text, prefixes[i]))
            continue;
        kino_str rest = behind(text, prefixes[i].size);
        kino__buffer_add(out, prefixes[i]);
        *is_changed = !is_known_class(rest);
        if (*is_changed)
            kino__redact_token(r, "name", rest, out);
        else
            kino__buffer_add(out, rest);
        return true;
    }
    return false;
}

static bool redact_name(const kino__redactor *r, const char *what, kino_str text, kino__buffer *out)
{
    bool is_changed;
    return redact_framework(r, text, out, &is_changed) ? is_changed
                                                       : redact_value(r, what, text, out);
}

/* aten::mm, prims::add, ...; AddmmBackward0: a node that PyTorch generated has a digit. */
static bool is_public_op(kino_str text)
{
    static const kino_str spaces[] = {KINO__STR("aten::"),
                                      KINO__STR("prim::"),
                                      KINO__STR("prims::"),
                                      KINO__STR("c10::"),
                                      KINO__STR("c10d::"),
                                      KINO__STR("c10d_functional::"),
                                      KINO__STR("_c10d_functional::"),
                                      KINO__STR("torch::autograd::"),
                                      KINO__STR("quantized::"),
                                      KINO__STR("inductor::"),
                                      KINO__STR("torchvision::"),
                                      KINO__STR("nccl::")};
    static const kino_str node = KINO__STR("Backward");
    if (kino__str_is(text, "record_param_comms") || kino__str_is(text, "detach"))
        return true;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (kino__str_starts_with(text, spaces[i]))
            return true;
    size_t size = text.size;
    while (size && isdigit((unsigned char)text.data[size - 1]))
        size--;
    return size < text.size && kino__str_ends_with((kino_str){text.data, size}, node) &&
           !memchr(text.data, '/', text.size) && !memchr(text.data, ' ', text.size);
}

static bool redact_op(const kino__redactor *r, kino_str text, kino__buffer *out)
{
    static const kino_str engine = KINO__STR("autograd::engine::evaluate_function: ");
    while (kino__str_starts_with(text, engine)) {
        kino__buffer_add(out, engine);
        text = behind(text, engine.size);
    }
    if (!is_public_op(text))
        return redact_name(r, "op", text, out);
    for (size_t i = 0; i < text.size; i++) /* a name, and nothing in it that is none */
        if (!kino__redact_is_word(text.data[i]) && !strchr("_:.", text.data[i]))
            return kino__redact_parts(r, text, out);
    kino__buffer_add(out, text);
    return false;
}

/* -- Python frames */

/* "path.py(33): function": the place of the "(33): " behind the path, or 0. */
static size_t find_line(kino_str frame, size_t *size)
{
    for (size_t i = 1; i + 4 < frame.size; i++) {
        if (frame.data[i] != '(')
            continue;
        size_t end = i + 1;
        while (end < frame.size && isdigit((unsigned char)frame.data[end]))
            end++;
        if (end > i + 1 && end + 2 < frame.size && memcmp(frame.data + end, "): ", 3) == 0) {
            *size = end + 3 - i;
            return i;
        }
    }
    return 0;
}

static void add_function(const kino__redactor *r, kino_str name, kino__buffer *out)
{
    bool is_special = (name.size > 2 && name.data[0] == '<' && name.data[name.size - 1] == '>' &&
                       !memchr(name.data, '/', name.size) && !memchr(name.data, ' ', name.size)) ||
                      (name.size > 4 && memcmp(name.data, "__", 2) == 0 &&
                       memcmp(name.data + name.size - 2, "__", 2) == 0);
    if (is_special)
        kino__buffer_add(out, name);
    else
        kino__redact_token(r, "fn", name, out);
}

/* "nn.Module: Linear_3": the number of the instance stays. */
static void add_module(const kino__redactor *r, kino_str name, kino__buffer *out)
{
    size_t size = name.size;
    while (size && isdigit((unsigned char)name.data[size - 1]))
        size--;
    if (size < 2 || size == name.size || name.data[size - 1] != '_')
        size = name.size;
    else
        size--;
    kino__redact_token(r, "module", (kino_str){name.data, size}, out);
    kino__buffer_add(out, behind(name, size));
}

static bool redact_frame(const kino__redactor *r, kino_str frame, kino__buffer *out)
{
    static const kino_str module = KINO__STR("nn.Module: ");
    size_t size, line;
    if (kino__str_starts_with(frame, module)) {
        kino__buffer_add(out, module);
        add_module(r, behind(frame, module.size), out);
        return true;
    }
    if (kino__str_starts_with(frame, KINO__STR("<built-in ")))
        return kino__redact_parts(r, frame, out);
    line = find_line(frame, &size);
    if (!line)
        return redact_value(r, "fn", frame, out);
    kino__redact_path(r, (kino_str){frame.data, line}, out);
    kino__buffer_add(out, (kino_str){frame.data + line, size});
    add_function(r, behind(frame, line + size), out);
    return true;
}

static bool redact_frames(const kino__redactor *r, kino_str text, kino__buffer *out)
{
    bool is_changed = false;
    for (size_t i = 0; i < text.size;) {
        size_t start = i;
        while (i < text.size && text.data[i] != ';' && text.data[i] != '\n')
            i++;
        is_changed |= redact_frame(r, (kino_str){text.data + start, i - start}, out);
        if (i < text.size)
            kino__buffer_add(out, (kino_str){text.data + i++, 1});
    }
    return is_changed;
}

/* -- processes and threads */

static bool redact_label(const kino__redactor *r, kino_str text, kino__buffer *out)
{
    static const char *const words[] = {
        "python",       "stream",         "thread",      "gpu",     "cpu",
        "cuda",         "device",         "spans",       "traces",  "pytorch",
        "profiler",     "main",           "process",     "rank",    "trace",
        "worker",       "autograd",       "comm",        "default", "pt_main_thread",
        "pt_autograd_", "pt_data_worker", "pt_data_pin", "memory",  "kineto"};
    if (kino__is_allocator_word(text) ||
        has_only_words(text, words, sizeof words / sizeof *words)) {
        kino__buffer_add(out, text);
        return false;
    }
    kino__redact_token(r, "label", text, out);
    return true;
}

bool kino__redact_text(const kino__redactor *redactor, kino__redact_as as, kino_str text,
                       kino__buffer *out)
{
    switch (as) {
    case KINO__REDACT_PARTS:
        return kino__redact_parts(redactor, text, out);
    case KINO__REDACT_VALUE:
        return redact_value(redactor, "value", text, out);
    case KINO__REDACT_OP:
        return redact_op(redactor, text, out);
    case KINO__REDACT_ANNOTATION:
        return redact_name(redactor, "annotation", text, out);
    case KINO__REDACT_NAME:
        return redact_name(redactor, "name", text, out);
    case KINO__REDACT_FRAMES:
        return redact_frames(redactor, text, out);
    case KINO__REDACT_LABEL:
        return redact_label(redactor, text, out);
    }
    return false;
}
