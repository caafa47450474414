/* kino_emit.cpp - PyTorch's operators as ranges of NVTX or tasks of ITT, for the tools that listen to
 * these. python/kino/profiler/_emit.py builds and loads it, and hands in the functions of the tool.
 *
 * Texts of NVTX are PyTorch's own ("aten::mm, seq = 3, op_id = 7, sizes = [[2, 3], [3, 4]],
 * input_op_ids = [(5,0), (6,0)]"), so that whatever reads those reads these. All threads emit. */
#include <ATen/record_function.h>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace
{

/* -- what the tool has -- */

struct NvtxTool {
    int (*push)(const char *text);
    int (*pop)(void);
};

struct IttId {
    unsigned long long d1, d2, d3; /* all 0: none */
};

struct IttTool {
    void *domain;
    void *(*string_handle)(const char *text);
    void (*begin)(void *domain, IttId task, IttId parent, void *name);
    void (*end)(void *domain);
};

NvtxTool nvtx;
IttTool itt;
bool with_shapes;

/* -- which operator made a tensor -- */

using Producer = std::pair<at::RecordFunctionHandle, int>; /* number of the operator, its output */
std::mutex producers_lock;
std::unordered_map<const void *, Producer> producers;

const void *identity(const at::Tensor &tensor)
{
    return tensor.defined() ? tensor.unsafeGetTensorImpl() : nullptr;
}

Producer producer_of(const at::Tensor &tensor)
{
    auto found = producers.find(identity(tensor));
    return found == producers.end() ? Producer{0, -1} : found->second;
}

template <typename Visit> void each_tensor(const c10::IValue &value, Visit visit)
{
    if (value.isTensor()) {
        visit(value.toTensor());
    } else if (value.isTensorList()) {
        const auto list = value.toTensorList();
        for (size_t i = 0; i < list.size(); i++)
            visit(list.get(i));
    }
}

void remember_outputs(const at::RecordFunction &fn)
{
    std::lock_guard<std::mutex> guard(producers_lock);
    int number = 0;
    for (const c10::IValue &output : fn.outputs()) {
        each_tensor(output, [&](const at::Tensor &tensor) {
            if (tensor.defined())
                producers[identity(tensor)] = {fn.handle(), number};
        });
        number++;
    }
}

/* -- texts -- */

void add_sizes(std::string &text, const at::Tensor &tensor)
{
    text += '[';
    bool is_plain = tensor.defined() && !tensor.is_nested() &&
                    !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
    auto sizes = is_plain ? tensor.sizes() : at::IntArrayRef{};
    for (size_t i = 0; i < sizes.size(); i++)
        text += (i ? ", " : "") + std::to_string(sizes[i]);
    text += ']';
}

/* A list of what `add` says about each tensor of the inputs, lists among them flattened, and of
 * `other` for what is no tensor. */
template <typename Add>
void add_inputs(std::string &text, const char *key, const at::RecordFunction &fn, const char *other,
                Add add)
{
    const char *separator = "";
    text += key;
    for (const c10::IValue &input : fn.inputs()) {
        if (!input.isTensor() && !input.isTensorList()) {
            text.append(separator).append(other);
            separator = ", ";
        }
        each_tensor(input, [&](const at::Tensor &tensor) {
            text += separator;
            add(tensor);
            separator = ", ";
        });
    }
    text += ']';
}

void add_shapes(std::string &text, const at::RecordFunction &fn)
{
    add_inputs(text, ", sizes = [", fn, "[]",
               [&](const at::Tensor &tensor) { add_sizes(text, tensor); });
    std::lock_guard<std::mutex> guard(producers_lock);
    add_inputs(text, ", input_op_ids = [", fn, "(0,-1)", [&](const at::Tensor &tensor) {
        Producer producer = producer_of(tensor);
        text += '(' + std::to_string(producer.first) + ',' + std::to_string(producer.second) + ')';
    });
}

const char *text_of(const at::RecordFunction &fn)
{
    thread_local std::string text;
    text = fn.name();
    if (fn.seqNr() >= 0)
        text += ", seq = " + std::to_string(fn.seqNr());
    if (fn.handle() > 0)
        text += ", op_id = " + std::to_string(fn.handle());
    if (with_shapes && !fn.inputs().empty())
        add_shapes(text, fn);
    return text.c_str();
}

void *handle_of(const char *name)
{
    thread_local std::unordered_map<std::string, void *> known;
    auto [found, is_new] = known.try_emplace(name, nullptr);
    if (is_new)
        found->second = itt.string_handle(name);
    return found->second;
}

/* -- callbacks -- */

std::unique_ptr<at::ObserverContext> begin_range(const at::RecordFunction &fn)
{
    nvtx.push(text_of(fn));
    return nullptr;
}

void end_range(const at::RecordFunction &fn, at::ObserverContext *)
{
    nvtx.pop();
    if (with_shapes)
        remember_outputs(fn);
}

std::unique_ptr<at::ObserverContext> begin_task(const at::RecordFunction &fn)
{
    itt.begin(itt.domain, {0, 0, 0}, {0, 0, 0}, handle_of(fn.name()));
    return nullptr;
}

void end_task(const at::RecordFunction &, at::ObserverContext *)
{
    itt.end(itt.domain);
}

std::mutex switch_lock;
at::CallbackHandle callback; /* 0: off */

bool enable(at::RecordFunctionCallback observer)
{
    if (callback)
        return false;
    callback = at::addGlobalCallback(std::move(observer));
    return true;
}

} // namespace

#define EMIT_API extern "C" __attribute__((visibility("default")))

/* Returns whether it is on: false when something is emitted already. */
EMIT_API bool kino_emit_nvtx(int (*push)(const char *), int (*pop)(void), bool shapes)
{
    std::lock_guard<std::mutex> guard(switch_lock);
    if (callback)
        return false;
    nvtx = {push, pop};
    with_shapes = shapes;
    return enable(at::RecordFunctionCallback(begin_range, end_range)
                      .needsInputs(shapes)
                      .needsOutputs(shapes)
                      .needsIds(true));
}

EMIT_API bool kino_emit_itt(void *domain, void *(*string_handle)(const char *),
                            void (*begin)(void *, IttId, IttId, void *), void (*end)(void *))
{
    std::lock_guard<std::mutex> guard(switch_lock);
    if (callback)
        return false;
    itt = {domain, string_handle, begin, end};
    return enable(at::RecordFunctionCallback(begin_task, end_task));
}

EMIT_API void kino_emit_stop(void)
{
    std::lock_guard<std::mutex> guard(switch_lock);
    if (!callback)
        return;
    at::removeCallback(callback);
    callback = 0;
    std::lock_guard<std::mutex> producers_guard(producers_lock);
    producers.clear();
}
