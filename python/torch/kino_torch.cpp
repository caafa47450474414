/* kino_torch.cpp - PyTorch's operators, allocations and collectives for libkino: the one file that
 * includes PyTorch's headers. python/kino/_bridge.py builds and loads it.
 *
 * A start callback of a RecordFunction begins a span, adds its raw inputs, and reads the clock
 * last; the end callback reads it first. Names and types are looked up once and are numbers from
 * then on; nothing becomes text here (libkino does that when a trace is read). What a thread needs
 * is in its own Thread: callbacks take no lock and, after the first calls, allocate nothing.
 *
 * The functions at the end are C: any loader can call them, whatever its Python. */
#include <ATen/record_function.h>
#include <atomic>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <torch/csrc/profiler/orchestration/observer.h>
#include <torch/csrc/profiler/util.h>
#include <torch/version.h>
#include <unordered_map>
#include <utility>

#include <kino/control.h>
#include <kino/inputs.h>
#include <kino/kino.h>

namespace
{

enum : uint32_t { SHAPES = 1, MEMORY = 2, THIS_THREAD = 4 };
enum : uint32_t {
    NAMES = 512,       /* operators that a thread finds by the address of their name */
    ROOM = 512,        /* words for the inputs of an operator */
    SAMPLE_EVERY = 64, /* callbacks, of which one is timed */
};

/* -- what a thread has -- */

/* Of an operator, by name; shared by all threads, for as long as the process lives. */
struct Site : kino_impl_v1_site {
    bool is_evaluation; /* the autograd engine runs the node that the rest of the name says */
};

struct Name {
    const char *address; /* where the name was seen last */
    Site *site;
};

/* Written by its thread alone, read by stats(). */
struct Counts {
    std::atomic<uint64_t> calls{0}, sampled{0}, sampled_ns{0};
};

struct Thread;
/* A pointer, because a library that is loaded late gets few bytes of the fast kind. */
thread_local Thread *mine __attribute__((tls_model("initial-exec")));
std::mutex threads_lock;
Thread *threads; /* all that live */
std::atomic<uint64_t> ended_calls, ended_sampled, ended_ns;

struct Thread {
    Name names[NAMES] = {};
    std::unordered_map<std::string, Site *> known[2]; /* operators, annotations */
    Counts counts;
    void *free_context = nullptr;
    uint64_t memory_window = 0; /* the window whose state this thread has */
    uint64_t last_ticks = 0;    /* when an operator began last */
    uint64_t evaluation = 0;    /* span of the engine around a node that has not begun */
    Thread *next, *previous = nullptr;

    Thread()
    {
        std::lock_guard<std::mutex> guard(threads_lock);
        next = threads;
        if (next)
            next->previous = this;
        threads = this;
    }

    ~Thread()
    {
        std::lock_guard<std::mutex> guard(threads_lock);
        ended_calls += counts.calls;
        ended_sampled += counts.sampled;
        ended_ns += counts.sampled_ns;
        (previous ? previous->next : threads) = next;
        if (next)
            next->previous = previous;
        while (free_context) {
            void *context = free_context;
            std::memcpy(&free_context, context, sizeof free_context);
            ::operator delete(context);
        }
    }
};

Thread &first_use()
{
    struct Owner {
        Thread *thread = new Thread;
        ~Owner()
        {
            mine = nullptr;
            delete thread;
        }
    };
    thread_local Owner owner;
    mine = owner.thread;
    return *mine;
}

Thread &self()
{
    return __builtin_expect(mine != nullptr, 1) ? *mine : first_use();
}

/* An operator that runs. Contexts go around in their thread instead of through the allocator. */
struct Context final : at::ObserverContext {
    uint64_t span;

    explicit Context(uint64_t span) : span(span)
    {
    }

    static void *operator new(size_t size)
    {
        Thread &thread = self();
        void *context = thread.free_context;
        if (!context)
            return ::operator new(size);
        std::memcpy(&thread.free_context, context, sizeof thread.free_context);
        return context;
    }

    static void operator delete(void *context)
    {
        Thread &thread = self();
        std::memcpy(context, &thread.free_context, sizeof thread.free_context);
        thread.free_context = context;
    }
};

/* -- names -- */

Site *intern(const char *name, bool is_user)
{
    static std::mutex lock;
    static std::unordered_map<std::string, Site *> sites[2];
    const char *category = is_user ? "user_annotation" : "cpu_op";
    std::lock_guard<std::mutex> guard(lock);
    auto [found, is_new] = sites[is_user].try_emplace(name, nullptr);
    if (is_new)
        found->second =
            new Site{{found->first.c_str(), category, "", "", 0, kino_text(name, category)},
                     found->first.rfind("autograd::engine::evaluate_function: ", 0) == 0};
    return found->second;
}

/* The same address is mostly the same operator, which the comparison makes sure of. */
Site *site_of(Thread &thread, const char *name, bool is_user)
{
    auto address = reinterpret_cast<uintptr_t>(name);
    Name &slot = thread.names[(address >> 3 ^ address >> 12 ^ is_user) % NAMES];
    if (slot.address == name && std::strcmp(slot.site->name, name) == 0 &&
        (slot.site->category[0] == 'u') == is_user)
        return slot.site;
    auto [found, is_new] = thread.known[is_user].try_emplace(name, nullptr);
    if (is_new)
        found->second = intern(name, is_user);
    slot = {name, found->second};
    return found->second;
}

/* The number of a type's name, as PyTorch's traces have it ("float", "c10::BFloat16"). */
uint32_t type_number(c10::ScalarType type)
{
    static std::atomic<uint32_t> numbers[static_cast<size_t>(c10::ScalarType::NumOptions) + 1];
    std::atomic<uint32_t> &number = numbers[static_cast<size_t>(type)];
    uint32_t known = number.load(std::memory_order_relaxed);
    if (!known) {
        known = kino_text(std::string(c10::scalarTypeToTypeMeta(type).name()).c_str(), "");
        number.store(known, std::memory_order_relaxed);
    }
    return known;
}

/* -- inputs -- */

void add_tensor(kino_inputs &in, const at::Tensor &tensor)
{
    if (!tensor.defined()) {
        kino_inputs_mark(&in, KINO_INPUT_OTHER, 0);
        return;
    }
    uint32_t type = type_number(tensor.scalar_type());
    auto *impl = tensor.unsafeGetTensorImpl();
    if (tensor.is_nested() || impl->has_symbolic_sizes_strides()) {
        kino_inputs_tensor(&in, type, nullptr, nullptr, 0);
        return;
    }
    bool has_strides = tensor.layout() == at::kStrided;
    auto sizes = tensor.sizes();
    kino_inputs_tensor(&in, type, sizes.data(), has_strides ? tensor.strides().data() : nullptr,
                       static_cast<uint32_t>(sizes.size()));
}

void add_tensors(kino_inputs &in, const c10::IValue &value)
{
    const auto list = value.toTensorList();
    kino_inputs_mark(&in, KINO_INPUT_LIST_BEGIN, 0);
    for (size_t i = 0; i < list.size() && list.size() <= KINO_INPUTS_LIST_MAX; i++)
        add_tensor(in, list.get(i));
    kino_inputs_mark(&in, KINO_INPUT_LIST_END, 0);
}

uint64_t word_of(int64_t value)
{
    return static_cast<uint64_t>(value);
}
uint64_t word_of(double value)
{
    return kino_impl_v1_double_bits(value);
}
uint64_t word_of(bool value)
{
    return value;
}

template <typename List> void add_numbers(kino_inputs &in, uint32_t kind, const List &list)
{
    if (list.size() > KINO_INPUTS_LIST_MAX) {
        static const uint32_t type = kino_text("ScalarList", "");
        kino_inputs_mark(&in, KINO_INPUT_OTHER, type);
        return;
    }
    uint64_t *at = kino_inputs_numbers(&in, kind, static_cast<uint32_t>(list.size()));
    for (size_t i = 0; at && i < list.size(); i++)
        at[i] = word_of(list.get(i));
}

void add_input(kino_inputs &in, const c10::IValue &value)
{
    if (value.isTensor())
        add_tensor(in, value.toTensor());
    else if (value.isInt())
        kino_inputs_number(&in, KINO_INPUT_INT, word_of(value.toInt()));
    else if (value.isDouble())
        kino_inputs_number(&in, KINO_INPUT_DOUBLE, word_of(value.toDouble()));
    else if (value.isBool())
        kino_inputs_number(&in, KINO_INPUT_BOOL, value.toBool());
    else if (value.isTensorList())
        add_tensors(in, value);
    else if (value.isIntList())
        add_numbers(in, KINO_INPUT_INTS, value.toIntList());
    else if (value.isDoubleList())
        add_numbers(in, KINO_INPUT_DOUBLES, value.toDoubleList());
    else if (value.isBoolList())
        add_numbers(in, KINO_INPUT_BOOLS, value.toBoolList());
    else
        kino_inputs_mark(&in, KINO_INPUT_OTHER, 0);
}

void add_inputs(kino_span span, const at::RecordFunction &fn)
{
    uint64_t room[ROOM];
    kino_inputs in = kino_inputs_open(span, room, ROOM);
    auto values = fn.inputs();
    size_t count = std::min(values.size(), fn.num_inputs());
    for (size_t i = 0; i < count; i++)
        add_input(in, values[i]);
    kino_inputs_close(&in, span);
}

/* What record_param_comms says of a collective, as PyTorch writes it into its own traces. */
void add_collective(kino_span span, const at::RecordFunction &fn)
{
    for (const auto &[key, value] : torch::profiler::impl::saveNcclMeta(fn))
        kino_arg_json(span, key.c_str(), value.c_str());
}

/* -- memory -- */

std::atomic<uint64_t> memory_window; /* 0: allocations are not recorded */

/* Allocators ask for PyTorch's profiler state: so this is one. */
struct MemoryState final : torch::profiler::impl::ProfilerStateBase {
    MemoryState()
        : ProfilerStateBase(torch::profiler::impl::ProfilerConfig(
              torch::profiler::impl::ProfilerState::CPU, false, true))
    {
    }

    torch::profiler::impl::ActiveProfilerType profilerType() override
    {
        return torch::profiler::impl::ActiveProfilerType::LEGACY;
    }

    bool memoryProfilingEnabled() const override
    {
        return memory_window.load(std::memory_order_relaxed) != 0;
    }

    static void report(bool is_failure, void *pointer, int64_t bytes, size_t allocated,
                       size_t reserved, c10::Device device)
    {
        kino_memory_event event = KINO_MEMORY_EVENT_INIT;
        event.device_type = static_cast<int32_t>(device.type());
        event.device_index = device.index();
        event.is_failure = is_failure;
        event.address = reinterpret_cast<uintptr_t>(pointer);
        event.bytes = bytes;
        event.total_allocated = static_cast<int64_t>(allocated);
        event.total_reserved = static_cast<int64_t>(reserved);
        static const uint32_t text = kino_text("[memory]", "cpu_instant_event");
        kino_put_memory(text, &event);
    }

    void reportMemoryUsage(void *pointer, int64_t bytes, size_t allocated, size_t reserved,
                           c10::Device device) override
    {
        if (memoryProfilingEnabled())
            report(false, pointer, bytes, allocated, reserved, device);
    }

    void reportOutOfMemory(int64_t bytes, size_t allocated, size_t reserved,
                           c10::Device device) override
    {
        if (memoryProfilingEnabled())
            report(true, nullptr, bytes, allocated, reserved, device);
    }
};

/* The calling thread reports its allocations from now on, unless a profiler of PyTorch's does. */
void watch_memory(Thread &thread, uint64_t window)
{
    auto kind = c10::DebugInfoKind::PROFILER_STATE;
    thread.memory_window = window;
    if (!c10::ThreadLocalDebugInfo::get(kind))
        c10::ThreadLocalDebugInfo::_push(kind, std::make_shared<MemoryState>());
}

void leave_memory()
{
    auto kind = c10::DebugInfoKind::PROFILER_STATE;
    if (dynamic_cast<MemoryState *>(c10::ThreadLocalDebugInfo::get(kind)))
        c10::ThreadLocalDebugInfo::_pop(kind);
}

/* -- callbacks -- */

std::atomic<uint32_t> options; /* of the window */

void add_sequence(kino_span span, const at::RecordFunction &fn)
{
    if (span.id && fn.seqNr() >= 0)
        kino_put_sequence(span, fn.seqNr(), static_cast<uint32_t>(fn.threadId()),
                          fn.forwardThreadId());
}

/* The engine's span around a node begins without the numbers, which belong to it, too. Comes last,
 * because the arguments of a span stand together. */
void pass_to_engine(Thread &thread, Site *site, kino_span span, const at::RecordFunction &fn)
{
    if (site->is_evaluation)
        thread.evaluation = span.id;
    else if (fn.scope() == at::RecordScope::BACKWARD_FUNCTION)
        add_sequence({std::exchange(thread.evaluation, 0)}, fn);
}

uint64_t begin(Thread &thread, const at::RecordFunction &fn)
{
    bool is_user = fn.scope() == at::RecordScope::USER_SCOPE;
    Site *site = site_of(thread, fn.name(), is_user);
    /* A time that has been, until start() reads the clock: for those who look in between. */
    kino_span span = {kino_impl_v1_begin_at(site, 0, KINO_IMPL_V1_SPAN, thread.last_ticks)};
    if (!span.id)
        return 0;
    add_sequence(span, fn);
    if (options.load(std::memory_order_relaxed) & SHAPES && !fn.inputs().empty())
        add_inputs(span, fn);
    if (fn.isNcclMeta())
        add_collective(span, fn);
    pass_to_engine(thread, site, span, fn);
    return span.id;
}

uint64_t now_ns()
{
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

std::unique_ptr<at::ObserverContext> start(const at::RecordFunction &fn)
{
    Thread &thread = self();
    uint64_t calls = thread.counts.calls.load(std::memory_order_relaxed);
    bool is_timed = calls % SAMPLE_EVERY == 0;
    uint64_t before = is_timed ? now_ns() : 0;
    thread.counts.calls.store(calls + 1, std::memory_order_relaxed);
    uint64_t window = memory_window.load(std::memory_order_relaxed);
    if (window && thread.memory_window != window)
        watch_memory(thread, window);
    auto context = std::make_unique<Context>(begin(thread, fn));
    if (is_timed) {
        thread.counts.sampled++;
        thread.counts.sampled_ns += now_ns() - before;
    }
    thread.last_ticks = kino_impl_v1_restart(context->span);
    return context;
}

void end(const at::RecordFunction &, at::ObserverContext *context)
{
    if (context)
        kino_impl_v1_end(static_cast<Context *>(context)->span);
}

/* -- on and off -- */

std::mutex switch_lock;
at::CallbackHandle callback; /* 0: off */
uint64_t windows;

void enable(uint32_t wanted)
{
    std::lock_guard<std::mutex> guard(switch_lock);
    if (callback)
        at::removeCallback(callback);
    options = wanted;
    memory_window = wanted & MEMORY ? ++windows : 0;
    if (wanted & MEMORY)
        watch_memory(self(), windows);
    auto observer = at::RecordFunctionCallback(start, end)
                        .needsInputs(wanted & SHAPES)
                        .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE,
                                 at::RecordScope::BACKWARD_FUNCTION});
    callback = wanted & THIS_THREAD ? at::addThreadLocalCallback(observer)
                                    : at::addGlobalCallback(observer);
}

void disable()
{
    std::lock_guard<std::mutex> guard(switch_lock);
    if (!callback)
        return;
    at::removeCallback(callback);
    callback = 0;
    memory_window = 0;
    leave_memory();
}

/* -- traces on request -- */

std::atomic<uint32_t> requested;

kino_status prepare(void *, const kino_client_request *request, kino_error *)
{
    uint32_t wanted = 0;
    if (request->flags & KINO_CLIENT_SHAPES || request->flags & KINO_CLIENT_FLOPS)
        wanted |= SHAPES;
    if (request->flags & KINO_CLIENT_MEMORY)
        wanted |= MEMORY;
    requested = wanted;
    return KINO_OK;
}

void begin_request(void *)
{
    enable(requested);
}
void end_request(void *, bool)
{
    disable();
}

} // namespace

#define BRIDGE_API extern "C" __attribute__((visibility("default")))

/* The version of PyTorch that this was built with: "2.13.0". */
BRIDGE_API const char *kino_torch_version(void)
{
    return TORCH_VERSION;
}

/* bits: 1 shapes, 2 memory, 4 the calling thread alone. */
BRIDGE_API void kino_torch_enable(uint32_t bits)
{
    enable(bits);
}

BRIDGE_API void kino_torch_disable(void)
{
    disable();
}

/* Operators take part in traces on request. Returns the number of the client, 0: failed. */
BRIDGE_API uint32_t kino_torch_attach(kino_error *err)
{
    kino_client client = KINO_CLIENT_INIT;
    uint32_t number = 0;
    client.name = "PyTorch";
    client.prepare = prepare;
    client.start = begin_request;
    client.stop = end_request;
    return kino_client_add(&client, &number, err) == KINO_OK ? number : 0;
}

/* Of all threads, since the process began: callbacks, those that were timed, and what these took. */
BRIDGE_API void kino_torch_counts(uint64_t *calls, uint64_t *sampled, uint64_t *ns)
{
    std::lock_guard<std::mutex> guard(threads_lock);
    *calls = ended_calls;
    *sampled = ended_sampled;
    *ns = ended_ns;
    for (Thread *thread = threads; thread; thread = thread->next) {
        *calls += thread->counts.calls;
        *sampled += thread->counts.sampled;
        *ns += thread->counts.sampled_ns;
    }
}
