/* empty_callback.cpp - the least that observing PyTorch's operators costs: callbacks that do nothing.
 * bench/profile_torch.py builds it as the bridge is built. */
#include <ATen/record_function.h>

static at::CallbackHandle handle;

static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction &)
{
    return nullptr;
}

static void end(const at::RecordFunction &, at::ObserverContext *)
{
}

extern "C" __attribute__((visibility("default"))) void empty_callback(int is_on, int with_inputs)
{
    if (!is_on) {
        at::removeCallback(handle);
        return;
    }
    handle =
        at::addGlobalCallback(at::RecordFunctionCallback(start, end)
                                  .needsInputs(with_inputs != 0)
                                  .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE,
                                           at::RecordScope::BACKWARD_FUNCTION}));
}
