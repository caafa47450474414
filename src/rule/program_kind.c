/* program_kind.c - framework and devices of a trace, and the advice that depends on nothing else.
 * */
#include "rule/program_kind.h"

#include "store/args.h"

/* -- what it is */

static bool starts_with_call(kino_str name, const char *prefix)
{
    size_t size = strlen(prefix);
    return name.size > size && memcmp(name.data, prefix, size) == 0 && name.data[size] >= 'A' &&
           name.data[size] <= 'Z';
}

static kino__framework framework_of(kino_str name)
{
    static const char *const torch[] = {"aten::",  "torch::",       "autograd::",
                                        "c10d::",  "ProfilerStep#", "nn.Module: ",
                                        "prims::", "Optimizer.",    "enumerate(DataLoader)#"};
    static const char *const jax[] = {"PjitFunction(", "XlaModule:", "TfrtCpuExecutable",
                                      "PjRtCpuExecutable", "jax::"};
    for (size_t i = 0; i < sizeof torch / sizeof *torch; i++)
        if (kino__str_starts_with(name, kino__str_from(torch[i])))
            return KINO__FRAMEWORK_PYTORCH;
    for (size_t i = 0; i < sizeof jax / sizeof *jax; i++)
        if (kino__str_starts_with(name, kino__str_from(jax[i])))
            return KINO__FRAMEWORK_JAX;
    return KINO__FRAMEWORK_NONE;
}

/* Whose call this is, by its prefix. */
static kino__device_family family_of_call(kino_str name)
{
    if (starts_with_call(name, "cuda") || starts_with_call(name, "cu"))
        return KINO__DEVICE_FAMILY_CUDA;
    if (starts_with_call(name, "hip"))
        return KINO__DEVICE_FAMILY_ROCM;
    if (starts_with_call(name, "cl"))
        return KINO__DEVICE_FAMILY_OPENCL;
    if (starts_with_call(name, "ze") || starts_with_call(name, "ur"))
        return KINO__DEVICE_FAMILY_XPU;
    return KINO__DEVICE_FAMILY_NONE;
}

static kino__device_family family_of_category(uint16_t category)
{
    switch (category) {
    case KINO__CATEGORY_XPU_RUNTIME:
    case KINO__CATEGORY_XPU_DRIVER:
        return KINO__DEVICE_FAMILY_XPU;
    case KINO__CATEGORY_MTIA_RUNTIME:
    case KINO__CATEGORY_GLOW_RUNTIME:
    case KINO__CATEGORY_PRIVATEUSE1_RUNTIME:
    case KINO__CATEGORY_PRIVATEUSE1_DRIVER:
        return KINO__DEVICE_FAMILY_OTHER;
    default:
        return KINO__DEVICE_FAMILY_NONE;
    }
}

/* The first call of a runtime that says it; without one, what the devices' properties say. */
static kino__device_family find_device(const kino__profile *p)
{
    const kino__trace *trace = p->trace;
    if (!p->has_kernel && !p->has_copies && !p->has_runtime)
        return KINO__DEVICE_FAMILY_NONE;
    for (size_t t = 0; t < trace->tracks.count && p->has_runtime; t++) {
        const kino__track *track = &trace->tracks.items[t];
        if (!(p->types_of_track[t] & 1U << KINO__EVENT_TYPE_RUNTIME))
            continue;
        for (uint32_t row = track->first; row - track->first < track->count; row++) {
            if (p->type[row] != KINO__EVENT_TYPE_RUNTIME || trace->name[row] == KINO_NO_STRING)
                continue;
            kino__device_family family =
                family_of_call(kino__trace_string(trace, trace->name[row]));
            if (family == KINO__DEVICE_FAMILY_NONE)
                family = family_of_category(trace->category[row]);
            if (family != KINO__DEVICE_FAMILY_NONE)
                return family;
        }
    }
    kino_str object;
    if (kino__json_object_at(kino__trace_metadata(trace, "deviceProperties"), 0, &object) &&
        kino__args_find(object, KINO__STR("computeMajor")).size)
        return KINO__DEVICE_FAMILY_CUDA;
    return KINO__DEVICE_FAMILY_OTHER;
}

kino__program_kind kino__program_of(const kino__profile *profile)
{
    const kino__trace *trace = profile->trace;
    const uint32_t trains = KINO__NAME_OPTIMIZER | KINO__NAME_BACKWARD_ROOT | KINO__NAME_ACCUMULATE;
    kino__program_kind program = {.device = find_device(profile),
                                  .is_training =
                                      profile->has_backward_flows || profile->seen_names & trains};
    size_t strings = kino__string_pool_count(&trace->strings);
    for (kino_strid id = 0; id < strings && program.framework == KINO__FRAMEWORK_NONE; id++)
        program.framework = framework_of(kino__trace_string(trace, id));
    return program;
}

/* -- what to do */

static const char *advise_torch_launches(const kino__program_kind *program)
{
    if (!kino__program_has_graphs(program))
        return program->is_training
                   ? "fuse kernels and launch fewer: use torch.compile(model), a fused or foreach "
                     "optimizer, a larger batch"
                   : "fuse kernels and launch fewer: use torch.compile(model), a larger batch";
    return program->is_training
               ? "fuse kernels and launch fewer: use torch.compile(model, "
                 "mode=\"reduce-overhead\"), CUDA graphs (torch.cuda.make_graphed_callables), a "
                 "fused optimizer, a larger batch"
               : "fuse kernels and launch fewer: use torch.compile(model, "
                 "mode=\"reduce-overhead\"), CUDA graphs (torch.cuda.CUDAGraph), a larger batch";
}

const char *kino__advise_launches(const kino__program_kind *program)
{
    if (kino__program_is_torch(program))
        return advise_torch_launches(program);
    if (program->framework == KINO__FRAMEWORK_JAX)
        return "compile more of the step at once: one jax.jit around all of it, lax.scan instead "
               "of Python loops, a larger batch";
    switch (program->device) {
    case KINO__DEVICE_FAMILY_CUDA:
        return "launch fewer kernels: merge small ones, give each more work, and capture the "
               "sequence once as a CUDA graph (cudaStreamBeginCapture, cudaGraphLaunch)";
    case KINO__DEVICE_FAMILY_ROCM:
        return "launch fewer kernels: merge small ones, give each more work, and capture the "
               "sequence once as a HIP graph (hipStreamBeginCapture, hipGraphLaunch)";
    case KINO__DEVICE_FAMILY_OPENCL:
        return "enqueue fewer commands, earlier: merge small kernels, give each more work, enqueue "
               "several before waiting, or record them once (cl_khr_command_buffer)";
    default:
        return "launch fewer kernels, earlier: merge small ones, give each more work, and enqueue "
               "several before waiting";
    }
}

const char *kino__advise_waits(const kino__program_kind *program)
{
    if (kino__program_is_torch(program))
        return program->device == KINO__DEVICE_FAMILY_XPU
                   ? "keep values on the device: no .item(), .cpu(), print or `if tensor:` in "
                     "each step (collect loss.detach() and read it every 100 steps), copy with "
                     "non_blocking=True from pinned memory, remove torch.xpu.synchronize()"
               : kino__program_has_graphs(program)
                   ? "keep values on the device: no .item(), .cpu(), print or `if tensor:` in "
                     "each step (collect loss.detach() and read it every 100 steps), copy with "
                     "non_blocking=True from pinned memory, remove torch.cuda.synchronize()"
                   : "keep values on the device: no .item(), .cpu(), print or `if tensor:` in "
                     "each step (collect loss.detach() and read it every 100 steps)";
    if (program->framework == KINO__FRAMEWORK_JAX)
        return "keep values on the device: no float(x), np.asarray(x), print or "
               "block_until_ready() in each step; read metrics every 100 steps";
    switch (program->device) {
    case KINO__DEVICE_FAMILY_CUDA:
    case KINO__DEVICE_FAMILY_ROCM:
        return "wait later and less often: enqueue the next work before waiting for the previous, "
               "wait for single events instead of the whole device, and copy asynchronously from "
               "pinned memory";
    case KINO__DEVICE_FAMILY_OPENCL:
        return "wait later and less often: enqueue the next work before clFinish, use events as "
               "dependencies between commands instead of waiting for them, and map and read "
               "without blocking";
    default:
        return "wait later and less often: enqueue the next work before waiting for the previous";
    }
}

const char *kino__advise_later(const kino__program_kind *program)
{
    return kino__program_is_torch(program)
               ? "start recording later: torch.profiler.schedule(wait=5, warmup=2, active=5)"
               : "start recording after the first iterations";
}
