/* empty_callback.cpp - the least that observing PyTorch's operators and allocations costs: callbacks
 * that do nothing. bench/profile_torch.py builds it as the bridge is built. */
#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

static at::CallbackHandle handle;

static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction &)
{
    return nullptr;
}

static void end(const at::RecordFunction &, at::ObserverContext *)
{
}

namespace impl = torch::profiler::impl;

namespace
{

enum { INPUTS = 1, MEMORY = 2 };

struct Reporter final : impl::ProfilerStateBase {
    Reporter() : ProfilerStateBase(impl::ProfilerConfig(impl::ProfilerState::CPU, false, true))
    {
    }

    impl::ActiveProfilerType profilerType() override
    {
        return impl::ActiveProfilerType::LEGACY;
    }

    void reportMemoryUsage(void *, int64_t, size_t, size_t, c10::Device) override
    {
    }
};

bool has_reporter;

} // namespace

extern "C" __attribute__((visibility("default"))) void empty_callback(int is_on, int bits)
{
    auto kind = c10::DebugInfoKind::PROFILER_STATE;
    if (!is_on) {
        at::removeCallback(handle);
        if (has_reporter)
            c10::ThreadLocalDebugInfo::_pop(kind);
        has_reporter = false;
        return;
    }
    has_reporter = bits & MEMORY;
    if (has_reporter)
        c10::ThreadLocalDebugInfo::_push(kind, std::make_shared<Reporter>());
    handle =
        at::addGlobalCallback(at::RecordFunctionCallback(start, end)
                                  .needsInputs(bits & INPUTS)
                                  .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE,
                                           at::RecordScope::BACKWARD_FUNCTION}));
}
