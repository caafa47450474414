/* profile_types.c - what each event is, by category and name. */
#include <stdlib.h>

#include "model/profile/profile_internal.h"
#include "names/communication.h"
#include "names/tensor_core.h"
#include "store/args.h"

/* -- names */

/* The plugin knows five collectives by their exact names (D11). */
static bool is_plugins_collective(kino_str rest)
{
    static const char *const known[] = {"broadcast", "reduce", "all_reduce", "all_gather",
                                        "reduce_scatter"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (kino__str_is(rest, known[i]))
            return true;
    return false;
}

static uint32_t compat_comm_flags(kino_str name)
{
    static const struct {
        kino_str prefix;
        uint32_t flag;
    } known[] = {{KINO__STR("nccl:"), KINO__NAME_NCCL}, {KINO__STR("gloo:"), KINO__NAME_GLOO}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t size = known[i].prefix.size;
        if (kino__str_starts_with(name, known[i].prefix) &&
            is_plugins_collective((kino_str){name.data + size, name.size - size}))
            return known[i].flag | KINO__NAME_COLLECTIVE;
    }
    return 0;
}

static uint32_t span_flags(kino__comm comm)
{
    switch (comm.kind) {
    case KINO__COMM_CARRIES:
        return KINO__NAME_COLLECTIVE |
               (kino__comm_library_is_host(comm.library) ? (uint32_t)KINO__NAME_ON_HOST : 0) |
               (comm.library == KINO__COMM_NCCL ? (uint32_t)KINO__NAME_NCCL : 0) |
               (comm.library == KINO__COMM_GLOO ? (uint32_t)KINO__NAME_GLOO : 0);
    case KINO__COMM_DISPATCHES:
        return KINO__NAME_COMM_CALL;
    case KINO__COMM_WAITS:
        return KINO__NAME_COMM_WAIT;
    default:
        return 0;
    }
}

static uint32_t comm_flags(kino_str name, bool is_compat)
{
    if (is_compat)
        return compat_comm_flags(name);
    bool is_kernel = kino__comm_of_kernel(name).kind != KINO__COMM_NONE;
    return span_flags(kino__comm_of_span(name)) |
           (is_kernel ? (uint32_t)KINO__NAME_COMM_KERNEL : 0);
}

/* Ranges that frameworks put around work; older profilers write them as operators. */
static bool is_container(kino_str name)
{
    static const kino_str prefixes[] = {KINO__STR("Optimizer."),
                                        KINO__STR("DataParallel."),
                                        KINO__STR("DistributedDataParallel."),
                                        KINO__STR("FullyShardedDataParallel."),
                                        KINO__STR("FSDP::"),
                                        KINO__STR("nn.Module: ")};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (kino__str_starts_with(name, prefixes[i]))
            return true;
    return false;
}

/* "torch/utils/data/dataloader.py(701): __next__"; loaders that are not PyTorch's mark their time
 * in no other way. */
static bool is_loader_frame(kino_str name)
{
    static const kino_str files[] = {KINO__STR("dataloader.py("), KINO__STR("nvidia/dali/plugin/"),
                                     KINO__STR("ffcv/loader/")};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (kino__str_contains(name, files[i]))
            return kino__str_ends_with(name, KINO__STR("): __next__"));
    return false;
}

static uint32_t flags_of(kino_str name, bool is_compat)
{
    uint32_t flags = 0;
    if (kino__str_starts_with(name, KINO__STR("ProfilerStep#")))
        flags |= KINO__NAME_STEP;
    if ((kino__str_starts_with(name, KINO__STR("enumerate(DataLoader)#")) &&
         kino__str_ends_with(name, KINO__STR(".__next__"))) ||
        kino__str_starts_with(name, KINO__STR("enumerate(DataPipe)#")))
        flags |= KINO__NAME_LOADER;
    if (is_loader_frame(name))
        flags |= KINO__NAME_LOADER_FRAME;
    if (kino__str_starts_with(name, KINO__STR("Optimizer.")))
        flags |= KINO__NAME_OPTIMIZER_ANY;
    if (kino__str_starts_with(name, KINO__STR("Optimizer.step")))
        flags |= KINO__NAME_OPTIMIZER;
    if (kino__str_is(name, "DataParallel.forward"))
        flags |= KINO__NAME_PARALLEL;
    if (kino__str_is(name, "DistributedDataParallel.forward"))
        flags |= KINO__NAME_DISTRIBUTED;
    if (!is_compat && is_container(name))
        flags |= KINO__NAME_CONTAINER;
    flags |= comm_flags(name, is_compat);
    if (kino__str_starts_with(name, KINO__STR("autograd::engine::evaluate_function:")))
        flags |= KINO__NAME_BACKWARD_ROOT;
    if (kino__str_is(name, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"))
        flags |= KINO__NAME_ACCUMULATE;
    if (kino__str_starts_with(name, KINO__STR("nn.Module: ")))
        flags |= KINO__NAME_MODULE;
    if (kino__str_starts_with(name, KINO__STR("[pl][profile]")))
        flags |= KINO__NAME_PL_PROFILE;
    if (kino__str_starts_with(name, KINO__STR("[pl][module]")))
        flags |= KINO__NAME_PL_MODULE;
    if (kino__str_is(name, "[memory]"))
        flags |= KINO__NAME_MEMORY;
    if (kino__name_could_use_tensor_cores(name, is_compat))
        flags |= KINO__NAME_ELIGIBLE;
    if (kino__name_uses_tensor_cores(name, is_compat))
        flags |= KINO__NAME_TENSOR_CORES;
    return flags;
}

/* -- categories */

static uint8_t compat_type(kino_str text)
{
    static const struct {
        const char *category;
        uint8_t type;
    } known[] = {
        {"cpu_op", KINO__EVENT_TYPE_OPERATOR},
        {"operator", KINO__EVENT_TYPE_OPERATOR},
        {"user_annotation", KINO__EVENT_TYPE_ANNOTATION},
        {"gpu_user_annotation", KINO__EVENT_TYPE_ANNOTATION},
        {"cuda_runtime", KINO__EVENT_TYPE_RUNTIME},
        {"runtime", KINO__EVENT_TYPE_RUNTIME},
        {"mtia_runtime", KINO__EVENT_TYPE_RUNTIME},
        {"glow_runtime", KINO__EVENT_TYPE_RUNTIME},
        {"xpu_runtime", KINO__EVENT_TYPE_RUNTIME},
        {"privateuse1_runtime", KINO__EVENT_TYPE_RUNTIME},
        {"kernel", KINO__EVENT_TYPE_KERNEL},
        {"gpu_memcpy", KINO__EVENT_TYPE_MEMCPY},
        {"memcpy", KINO__EVENT_TYPE_MEMCPY},
        {"gpu_memset", KINO__EVENT_TYPE_MEMSET},
        {"memset", KINO__EVENT_TYPE_MEMSET},
        {"python", KINO__EVENT_TYPE_PYTHON},
        {"python_function", KINO__EVENT_TYPE_PYTHON_FUNCTION},
        {"trace", KINO__EVENT_TYPE_TRACE},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text.size == strlen(known[i].category) &&
            strncasecmp(text.data, known[i].category, text.size) == 0)
            return known[i].type;
    return KINO__EVENT_TYPE_NONE;
}

/* The default goes by kinds, so that every vendor's categories count; what the plugin knows keeps
 * its type. Annotations of a device are not time of the host (D1). */
static uint8_t default_type(kino_str text, uint16_t category)
{
    switch (kino__category_kind(category)) {
    case KINO__KIND_GPU_ANNOTATION:
        return KINO__EVENT_TYPE_NONE;
    case KINO__KIND_KERNEL:
        return KINO__EVENT_TYPE_KERNEL;
    case KINO__KIND_MEMCPY:
        return KINO__EVENT_TYPE_MEMCPY;
    case KINO__KIND_MEMSET:
        return KINO__EVENT_TYPE_MEMSET;
    case KINO__KIND_RUNTIME:
    case KINO__KIND_DRIVER: /* D2 */
        return KINO__EVENT_TYPE_RUNTIME;
    default:
        return compat_type(text);
    }
}

/* One type a category number; the caller frees it. */
static uint8_t *types_of_categories(const kino__profile *p, size_t *count)
{
    const kino__trace *trace = p->trace;
    *count = KINO__CATEGORY_COUNT + trace->own_categories.count;
    uint8_t *types = malloc(*count + 1);
    for (size_t i = 0; i < *count && types; i++) {
        kino_str text = kino__trace_category_text(trace, (uint16_t)i);
        types[i] = p->is_compat ? compat_type(text) : default_type(text, (uint16_t)i);
    }
    return types;
}

/* -- rows */

/* A module is a Python call with a module's number; the text is looked at only where the name does
 * not say it. */
static bool is_module(const kino__profile *p, uint32_t row, kino__text_cursor *cursor)
{
    if (p->trace->name[row] != KINO_NO_STRING &&
        p->name_flags[p->trace->name[row]] & KINO__NAME_MODULE)
        return true;
    if (!p->is_compat)
        return false;
    kino_str text = kino__args_text(p->trace, row, cursor);
    return kino__args_find(text, KINO__STR("Python module id")).size > 0;
}

static uint8_t refine(kino__profile *p, uint32_t row, uint8_t type, uint32_t flags,
                      kino__text_cursor *cursor)
{
    switch (type) {
    case KINO__EVENT_TYPE_OPERATOR:
        if (p->is_lightning && flags & KINO__NAME_PL_PROFILE)
            return KINO__EVENT_TYPE_PL_PROFILE;
        if (p->is_lightning && flags & KINO__NAME_PL_MODULE)
            return KINO__EVENT_TYPE_PL_MODULE;
        return flags & KINO__NAME_STEP ? KINO__EVENT_TYPE_STEP : type;
    case KINO__EVENT_TYPE_ANNOTATION:
        return flags & KINO__NAME_STEP ? KINO__EVENT_TYPE_STEP : type;
    case KINO__EVENT_TYPE_PYTHON_FUNCTION:
        if (p->is_lightning)
            return KINO__EVENT_TYPE_NONE;
        return is_module(p, row, cursor) ? KINO__EVENT_TYPE_MODULE : type;
    default:
        return type;
    }
}

static uint8_t type_of_row(kino__profile *p, uint32_t row, const uint8_t *types, size_t count,
                           kino__text_cursor *cursor)
{
    const kino__trace *trace = p->trace;
    kino_strid name = trace->name[row];
    uint32_t flags = name == KINO_NO_STRING ? 0 : p->name_flags[name];
    uint8_t type = KINO__EVENT_TYPE_NONE;
    int64_t dur = trace->dur[row] == KINO_NO_TIME ? 0 : trace->dur[row];
    if (trace->ts[row] == KINO_NO_TIME || !kino__time_is_sane(trace->ts[row], dur))
        return type;
    if (trace->phase[row] == 'X' && trace->category[row] < count)
        type = refine(p, row, types[trace->category[row]], flags, cursor);
    else if (trace->phase[row] == 'i' && flags & KINO__NAME_MEMORY)
        type = KINO__EVENT_TYPE_MEMORY;
    else
        p->has_backward_flows |= trace->category[row] == KINO__CATEGORY_FWDBWD;
    if (type == KINO__EVENT_TYPE_OPERATOR || type == KINO__EVENT_TYPE_ANNOTATION)
        p->seen_names |= flags;
    return type;
}

static void find_track_types(kino__profile *p, uint32_t index, const uint8_t *types, size_t count,
                             kino__text_cursor *cursor)
{
    const kino__trace *trace = p->trace;
    const kino__track *track = &trace->tracks.items[index];
    uint32_t seen = 0;
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        uint8_t type = type_of_row(p, row, types, count, cursor);
        p->type[row] = type;
        seen |= 1u << type;
        if (type != KINO__EVENT_TYPE_NONE && trace->ts[row] < p->first_ts)
            p->first_ts = trace->ts[row];
    }
    p->types_of_track[index] = seen;
}

static void note(kino__profile *p)
{
    uint32_t seen = 0;
    for (size_t t = 0; t < p->trace->tracks.count; t++)
        seen |= p->types_of_track[t];
    p->has_runtime = seen & 1 << KINO__EVENT_TYPE_RUNTIME;
    p->has_kernel = seen & 1 << KINO__EVENT_TYPE_KERNEL;
    p->has_copies = seen & (1 << KINO__EVENT_TYPE_MEMCPY | 1 << KINO__EVENT_TYPE_MEMSET);
    p->has_memory = seen & 1 << KINO__EVENT_TYPE_MEMORY;
    p->has_modules = seen & 1 << KINO__EVENT_TYPE_MODULE;
    p->has_step_events = seen & 1 << KINO__EVENT_TYPE_STEP;
    p->uses_dp = p->seen_names & KINO__NAME_PARALLEL;
    p->uses_ddp = p->seen_names & KINO__NAME_DISTRIBUTED;
    p->saw_nccl = p->seen_names & KINO__NAME_NCCL;
    p->saw_gloo = p->seen_names & KINO__NAME_GLOO;
    /* Where nothing carries out collectives, what asks for them is all that there is. */
    bool has_carriers = p->has_kernel || p->seen_names & KINO__NAME_COLLECTIVE;
    p->collective_flags =
        has_carriers || p->is_compat ? KINO__NAME_COLLECTIVE : KINO__NAME_COMM_CALL;
}

bool kino__profile_find_types(kino__profile *p)
{
    const kino__trace *trace = p->trace;
    size_t strings = kino__string_pool_count(&trace->strings), count;
    p->is_lightning =
        kino__str_is(kino__trace_metadata(trace, "Framework"), "\"pytorch-lightning\"");
    p->name_flags = malloc((strings + 1) * sizeof *p->name_flags);
    p->type = calloc((size_t)trace->event_count + 1, 1);
    p->types_of_track = calloc(trace->tracks.count + 1, sizeof *p->types_of_track);
    uint8_t *types = types_of_categories(p, &count);
    if (!p->name_flags || !p->type || !p->types_of_track || !types) {
        free(types);
        return false;
    }
    for (kino_strid id = 0; id < strings; id++)
        p->name_flags[id] = flags_of(kino__trace_string(trace, id), p->is_compat);
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    p->first_ts = INT64_MAX;
    for (uint32_t t = 0; t < trace->tracks.count; t++)
        find_track_types(p, t, types, count, &cursor);
    note(p);
    if (p->first_ts == INT64_MAX)
        p->first_ts = 0;
    kino__text_cursor_deinit(&cursor);
    free(types);
    return true;
}
