/* kino_torch.cpp - PyTorch's operators, allocations and collectives for libkino: the one file that
 * includes PyTorch's headers. python/kino/_bridge.py builds and loads it.
 *
 * A start callback of a RecordFunction writes a span with its numbers and raw inputs in one piece
 * and reads the clock last; the end callback reads it first. Names and types are looked up once and
 * are numbers from then on; nothing becomes text here (libkino does that when a trace is read). What
 * a thread needs is in its own Thread: callbacks take no lock and, after the first calls, allocate
 * nothing.
 *
 * The functions at the end are C: any loader can call them, whatever its Python. */
#include <ATen/record_function.h>
#include <atomic>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <string>
#include <torch/csrc/jit/runtime/interpreter.h>
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

enum : uint32_t {
    SHAPES = 1,
    MEMORY = 2,
    THIS_THREAD = 4,
    OVERLOADS = 8, /* names of operators end with those of their overloads */
    MODULES = 16,  /* of TorchScript */
    IDS = 32,      /* which others, who ask for them too, see as well */
    FEATURES = SHAPES | MEMORY | THIS_THREAD | OVERLOADS | MODULES | IDS,
};
enum : uint32_t {
    NAMES = 512,       /* operators that a thread finds by the address of their name */
    ROOM = 512,        /* words for the inputs of an operator */
    SAMPLE_EVERY = 64, /* callbacks, of which one is timed */
};

/* Everything that most operators need is in line, so that kino_inputs stays in registers. */
#define IN_LINE __attribute__((always_inline)) inline

/* -- what a thread has -- */

/* Of an operator, by name; shared by all threads, for as long as the process lives. */
struct Site : kino_impl_v1_site {
    bool is_evaluation; /* the autograd engine runs the node that the rest of the name says */
    bool has_schema;    /* a registered operator, which has no keyword inputs */
    bool is_user;       /* an annotation */
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
    uint64_t room[ROOM]; /* for inputs that do not fit into what is left of a segment */
    std::unordered_map<std::string, Site *> known[2]; /* operators, annotations */
    Counts counts;
    void *free_context = nullptr;
    uint64_t window = 0;        /* whose state this thread has */
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

struct Sums {
    uint64_t calls, sampled, ns;
};

/* Of all threads, since the process began. */
Sums all_counts()
{
    std::lock_guard<std::mutex> guard(threads_lock);
    Sums sums = {ended_calls, ended_sampled, ended_ns};
    for (Thread *thread = threads; thread; thread = thread->next) {
        sums.calls += thread->counts.calls;
        sums.sampled += thread->counts.sampled;
        sums.ns += thread->counts.sampled_ns;
    }
    return sums;
}

/* The thread ends. Other parts of it that end then may run operators after this: these make it anew,
 * and this is called again. */
void forget(void *thread)
{
    mine = nullptr;
    delete static_cast<Thread *>(thread);
}

Thread &first_use()
{
    static pthread_key_t ending;
    static const bool has_key = pthread_key_create(&ending, forget) == 0;
    mine = new Thread;
    if (has_key) /* else its memory stays */
        (void)pthread_setspecific(ending, mine);
    return *mine;
}

Thread &self()
{
    return __builtin_expect(mine != nullptr, 1) ? *mine : first_use();
}

/* An operator that runs. Contexts go around in their thread instead of through the allocator; those
 * of functions that end on another thread would only pile up there. */
struct Context final : at::ObserverContext {
    uint64_t span;
    const Thread *owner;

    Context(uint64_t span, const Thread *owner) : span(span), owner(owner)
    {
    }

    static std::unique_ptr<at::ObserverContext> take(Thread &thread, uint64_t span)
    {
        void *room = thread.free_context;
        if (__builtin_expect(room != nullptr, 1))
            std::memcpy(&thread.free_context, room, sizeof thread.free_context);
        else
            room = ::operator new(sizeof(Context));
        return std::unique_ptr<at::ObserverContext>(::new (room) Context(span, &thread));
    }

    static void operator delete(Context *context, std::destroying_delete_t)
    {
        Thread *thread = mine;
        bool is_back = context->owner == thread;
        context->~Context();
        if (__builtin_expect(!is_back, 0)) {
            ::operator delete(context);
            return;
        }
        std::memcpy(static_cast<void *>(context), &thread->free_context,
                    sizeof thread->free_context);
        thread->free_context = context;
    }
};

/* -- names -- */

bool begins_with(const std::string &text, const char *start)
{
    return text.rfind(start, 0) == 0;
}

/* Threads may run when the process ends and what is static is destroyed: this is not. */
Site *intern(const std::string &name, bool is_user, bool has_schema)
{
    static std::mutex lock;
    static auto *const sites = new std::unordered_map<std::string, Site *>[2];
    const char *category = is_user ? "user_annotation" : "cpu_op";
    std::lock_guard<std::mutex> guard(lock);
    auto [found, is_new] = sites[is_user].try_emplace(name, nullptr);
    if (is_new)
        found->second = new Site{
            {found->first.c_str(), category, "", "", 0, kino_text(name.c_str(), category)},
            begins_with(name, "autograd::engine::evaluate_function: "),
            has_schema, is_user};
    return found->second;
}

__attribute__((noinline)) Site *find_site(Thread &thread, const std::string &name,
                                          const at::RecordFunction &fn, bool is_user)
{
    auto [found, is_new] = thread.known[is_user].try_emplace(name, nullptr);
    if (is_new)
        found->second = intern(name, is_user, fn.operator_name().has_value());
    return found->second;
}

/* The same address is mostly the same operator, which the comparison makes sure of. */
IN_LINE Site *site_of(Thread &thread, const at::RecordFunction &fn, bool is_user)
{
    const char *name = fn.name();
    auto address = reinterpret_cast<uintptr_t>(name);
    Name &slot = thread.names[(address >> 3 ^ address >> 12 ^ is_user) % NAMES];
    if (__builtin_expect(slot.address == name && slot.site->is_user == is_user, 1) &&
        std::strcmp(slot.site->name, name) == 0)
        return slot.site;
    slot = {name, find_site(thread, name, fn, is_user)};
    return slot.site;
}

/* Versions of PyTorch before 2.5 do not tell overloads. */
template <typename Function> std::string overload_of(const Function &fn)
{
    if constexpr (requires { fn.overload_name(); })
        return fn.overload_name();
    return "";
}

Site *overload_site_of(Thread &thread, const at::RecordFunction &fn, bool is_user)
{
    std::string overload = overload_of(fn);
    return overload.empty() ? site_of(thread, fn, is_user)
                            : find_site(thread, fn.name() + ("." + overload), fn, is_user);
}

/* The number of a type's name, as PyTorch's traces have it ("float", "c10::BFloat16"). */
std::atomic<uint32_t> type_numbers[static_cast<size_t>(c10::ScalarType::NumOptions) + 1];

__attribute__((noinline)) uint32_t new_type_number(c10::ScalarType type)
{
    uint32_t number = kino_text(std::string(c10::scalarTypeToTypeMeta(type).name()).c_str(), "");
    type_numbers[static_cast<size_t>(type)].store(number, std::memory_order_relaxed);
    return number;
}

inline uint32_t type_number(c10::ScalarType type)
{
    uint32_t number = type_numbers[static_cast<size_t>(type)].load(std::memory_order_relaxed);
    return __builtin_expect(number != 0, 1) ? number : new_type_number(type);
}

/* -- inputs -- */

IN_LINE void add_tensor(kino_inputs &in, const at::Tensor &tensor)
{
    const c10::TensorImpl *impl = tensor.unsafeGetTensorImpl();
    if (__builtin_expect(!tensor.defined(), 0)) {
        kino_inputs_mark(&in, KINO_INPUT_OTHER, 0);
        return;
    }
    uint32_t type = type_number(tensor.scalar_type());
    if (__builtin_expect(impl->is_nested() || impl->has_symbolic_sizes_strides(), 0)) {
        kino_inputs_tensor(&in, type, nullptr, nullptr, 0);
        return;
    }
    auto sizes = impl->sizes();
    auto count = static_cast<uint32_t>(sizes.size());
    if (__builtin_expect(impl->layout() == at::kStrided, 1))
        kino_inputs_tensor(&in, type, sizes.data(), impl->strides().data(), count);
    else
        kino_inputs_tensor(&in, type, sizes.data(), nullptr, count);
}

void add_tensors(kino_inputs &in, c10::ArrayRef<c10::IValue> list)
{
    kino_inputs_mark(&in, KINO_INPUT_LIST_BEGIN, 0);
    for (size_t i = 0; i < list.size() && list.size() <= KINO_INPUTS_LIST_MAX; i++)
        add_tensor(in, list[i].toTensor());
    kino_inputs_mark(&in, KINO_INPUT_LIST_END, 0);
}

uint64_t word_of(const c10::IValue &value, uint32_t kind)
{
    if (kind == KINO_INPUT_INTS)
        return static_cast<uint64_t>(value.toInt());
    return kind == KINO_INPUT_BOOLS ? value.toBool() : kino_impl_v1_double_bits(value.toDouble());
}

void add_numbers(kino_inputs &in, uint32_t kind, c10::ArrayRef<c10::IValue> list)
{
    if (list.size() > KINO_INPUTS_LIST_MAX) {
        static const uint32_t type = kino_text("ScalarList", "");
        kino_inputs_mark(&in, KINO_INPUT_OTHER, type);
        return;
    }
    uint64_t *at = kino_inputs_numbers(&in, kind, static_cast<uint32_t>(list.size()));
    for (size_t i = 0; at && i < list.size(); i++)
        at[i] = word_of(list[i], kind);
}

/* Elements are looked at where they are: nothing is copied, nothing is counted. */
__attribute__((noinline)) kino_inputs add_list(kino_inputs in, const c10::IValue &value)
{
    if (value.isTensorList())
        add_tensors(in, value.toListRef());
    else if (value.isIntList())
        add_numbers(in, KINO_INPUT_INTS, value.toListRef());
    else if (value.isDoubleList())
        add_numbers(in, KINO_INPUT_DOUBLES, value.toListRef());
    else if (value.isBoolList())
        add_numbers(in, KINO_INPUT_BOOLS, value.toListRef());
    else
        kino_inputs_mark(&in, KINO_INPUT_OTHER, 0);
    return in;
}

IN_LINE void add_input(kino_inputs &in, const c10::IValue &value)
{
    if (value.isTensor())
        add_tensor(in, value.toTensor());
    else if (value.isInt())
        kino_inputs_number(&in, KINO_INPUT_INT, static_cast<uint64_t>(value.toInt()));
    else if (value.isDouble())
        kino_inputs_number(&in, KINO_INPUT_DOUBLE, kino_impl_v1_double_bits(value.toDouble()));
    else if (value.isBool())
        kino_inputs_number(&in, KINO_INPUT_BOOL, value.toBool());
    else if (value.isList())
        in = add_list(in, value);
    else
        kino_inputs_mark(&in, KINO_INPUT_OTHER, 0);
}

IN_LINE void add_inputs(kino_inputs &in, const at::RecordFunction &fn)
{
    auto values = fn.inputs();
    size_t count = values.empty() ? 0 : std::min(values.size(), fn.num_inputs());
    for (size_t i = 0; i < count; i++)
        add_input(in, values[i]);
}

/* -- rarer arguments -- */

std::string quoted(const std::string &text)
{
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        if (static_cast<unsigned char>(c) >= ' ')
            out += c;
    }
    return out + "\"";
}

bool is_text_list(const c10::IValue &value)
{
    if (!value.isList())
        return false;
    for (const auto &item : value.toListRef())
        if (!item.isString())
            return false;
    return true;
}

std::string text_list(c10::ArrayRef<c10::IValue> list)
{
    std::string out = "[";
    for (const auto &item : list)
        out += (out.size() > 1 ? ", " : "") + quoted(item.toStringRef());
    return out + "]";
}

/* As PyTorch writes it: texts with quotation marks are not there. */
void add_keyword(kino_span span, const char *key, const c10::IValue &value)
{
    if (value.isInt())
        kino_arg_int(span, key, value.toInt());
    else if (std::strcmp(key, "stream") == 0)
        return;
    else if (value.isDouble())
        kino_arg_double(span, key, value.toDouble());
    else if (value.isBool())
        kino_arg_bool(span, key, value.toBool());
    else if (value.isString())
        kino_arg_text(span, key,
                      value.toStringRef().find('"') == std::string::npos
                          ? value.toStringRef().c_str()
                          : "None");
    else if (is_text_list(value))
        kino_arg_json(span, key, text_list(value.toListRef()).c_str());
}

void add_modules(kino_span span)
{
    std::string path;
    for (const auto &module : torch::jit::currentModuleHierarchy())
        path += module + "."; /* as PyTorch writes it, behind the last one too */
    if (!path.empty())
        kino_arg_text(span, "Module Hierarchy", path.c_str());
}

/* What record_param_comms says of a collective, as PyTorch writes it into its own traces. */
void add_collective(kino_span span, const at::RecordFunction &fn)
{
    for (const auto &[key, value] : torch::profiler::impl::saveNcclMeta(fn))
        kino_arg_json(span, key.c_str(), value.c_str());
}

/* -- memory -- */

std::atomic<uint64_t> window;       /* the number of the one that is recorded; 0: none */
std::atomic<uint32_t> options;      /* of it */
uint32_t memory_text;               /* set before there is a window */

/* Allocators ask for PyTorch's profiler state: so this is one. Others look whether there is one:
 * ranges around compiled kernels are told to nobody else, and functions of the user's hand over
 * inputs other than tensors only when it wants shapes. */
struct State final : torch::profiler::impl::ProfilerStateBase {
    explicit State(uint32_t wanted)
        : ProfilerStateBase(torch::profiler::impl::ProfilerConfig(
              torch::profiler::impl::ProfilerState::CPU, wanted & SHAPES, wanted & MEMORY)),
          has_memory(wanted & MEMORY)
    {
    }

    torch::profiler::impl::ActiveProfilerType profilerType() override
    {
        return torch::profiler::impl::ActiveProfilerType::LEGACY;
    }

    const bool has_memory;

    /* A state may be left over from a window that wanted it. */
    bool memoryProfilingEnabled() const override
    {
        return has_memory && window.load(std::memory_order_relaxed) != 0 &&
               options.load(std::memory_order_relaxed) & MEMORY;
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
        kino_put_memory(memory_text, &event);
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

/* The calling thread's state goes: PyTorch's own profiler begins on no thread that has one. Where
 * something else was put on top of it, it stays until that thread's next window. */
void leave_window()
{
    auto kind = c10::DebugInfoKind::PROFILER_STATE;
    if (!dynamic_cast<State *>(c10::ThreadLocalDebugInfo::get(kind)))
        return;
    try {
        c10::ThreadLocalDebugInfo::_pop(kind);
    } catch (const c10::Error &) {
    }
}

/* The calling thread has a state of this window from now on, unless it is in one of PyTorch's. */
__attribute__((noinline)) void join_window(Thread &thread, uint64_t number)
{
    auto kind = c10::DebugInfoKind::PROFILER_STATE;
    thread.window = number;
    leave_window();
    if (!c10::ThreadLocalDebugInfo::get(kind))
        c10::ThreadLocalDebugInfo::_push(
            kind, std::make_shared<State>(options.load(std::memory_order_relaxed)));
}

int leave_later(void *)
{
    if (!window.load(std::memory_order_relaxed))
        leave_window();
    return 0;
}

/* The interpreter's main thread, too, when it comes to it: a trace on request ends on another. */
void leave_window_everywhere()
{
    using AddPendingCall = int (*)(int (*)(void *), void *);
    leave_window();
    auto add = reinterpret_cast<AddPendingCall>(dlsym(RTLD_DEFAULT, "Py_AddPendingCall"));
    if (add)
        (void)add(leave_later, nullptr);
}

/* -- callbacks -- */

/* The engine's span around a node begins without the numbers, which belong to it, too. */
void pass_to_engine(Thread &thread, const Site *site, kino_span span, const at::RecordFunction &fn)
{
    if (site->is_evaluation) {
        thread.evaluation = span.id;
        return;
    }
    kino_span evaluation = {std::exchange(thread.evaluation, 0)};
    if (evaluation.id && fn.seqNr() >= 0)
        kino_put_sequence(evaluation, fn.seqNr(), static_cast<uint32_t>(fn.threadId()),
                          fn.forwardThreadId());
}

/* What few functions have; the span's clock is read again behind it. */
__attribute__((noinline)) void add_more(const Site *site, kino_span span,
                                        const at::RecordFunction &fn, uint32_t wanted)
{
    if (fn.isNcclMeta())
        add_collective(span, fn);
    if (wanted & SHAPES && !site->has_schema && !site->is_user)
        for (const auto &[key, value] : fn.kwinputs())
            add_keyword(span, key.c_str(), value);
    if (wanted & MODULES && fn.scope() != at::RecordScope::BACKWARD_FUNCTION)
        add_modules(span);
    if (wanted & IDS)
        kino_arg_uint(span, "Record function id", fn.handle());
    (void)kino_impl_v1_restart(span.id);
}

/* What most windows want has callbacks of its own, in which the compiler knows it: nothing but the
 * operator, or its inputs as well. ANY asks for each. */
enum Kind { PLAIN, WITH_SHAPES, ANY };

template <Kind kind> uint32_t wanted_now()
{
    return kind == ANY           ? options.load(std::memory_order_relaxed)
           : kind == WITH_SHAPES ? static_cast<uint32_t>(SHAPES)
                                 : 0;
}

template <Kind kind>
IN_LINE kino_span begin(Thread &thread, const at::RecordFunction &fn)
{
    const uint32_t wanted = wanted_now<kind>();
    at::RecordScope scope = fn.scope();
    bool is_user = scope == at::RecordScope::USER_SCOPE;
    Site *site = wanted & OVERLOADS ? overload_site_of(thread, fn, is_user)
                                    : site_of(thread, fn, is_user);
    kino_inputs in = kino_operator_open(thread.room, wanted & SHAPES ? ROOM : 0);
    if (wanted & SHAPES)
        add_inputs(in, fn);
    kino_span span =
        kino_operator_begin(&in, site, fn.seqNr(), fn.threadId(), fn.forwardThreadId());
    if (__builtin_expect(!span.id, 0))
        return span;
    if (__builtin_expect(site->is_evaluation || scope == at::RecordScope::BACKWARD_FUNCTION, 0))
        pass_to_engine(thread, site, span, fn);
    bool has_more = wanted & (MODULES | IDS) || (wanted & SHAPES && !site->has_schema);
    if (__builtin_expect(has_more || fn.isNcclMeta(), 0))
        add_more(site, span, fn, wanted);
    return span;
}

uint64_t now_ns()
{
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

/* begin(), and what it takes. */
template <Kind kind>
__attribute__((noinline)) kino_span begin_timed(Thread &thread, const at::RecordFunction &fn)
{
    uint64_t before = now_ns();
    kino_span span = begin<kind>(thread, fn);
    thread.counts.sampled++;
    thread.counts.sampled_ns += now_ns() - before;
    (void)kino_impl_v1_restart(span.id);
    return span;
}

template <Kind kind> std::unique_ptr<at::ObserverContext> start(const at::RecordFunction &fn)
{
    Thread &thread = self();
    uint64_t calls = thread.counts.calls.load(std::memory_order_relaxed);
    thread.counts.calls.store(calls + 1, std::memory_order_relaxed);
    uint64_t now = window.load(std::memory_order_relaxed);
    if (__builtin_expect(thread.window != now && now, 0))
        join_window(thread, now);
    bool is_timed = calls % SAMPLE_EVERY == 0;
    kino_span span =
        __builtin_expect(is_timed, 0) ? begin_timed<kind>(thread, fn) : begin<kind>(thread, fn);
    return Context::take(thread, span.id);
}

at::RecordFunctionCallback::StartCallback start_for(uint32_t wanted)
{
    uint32_t kind = wanted & ~(MEMORY | THIS_THREAD);
    return kind == 0 ? start<PLAIN> : kind == SHAPES ? start<WITH_SHAPES> : start<ANY>;
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
    memory_text = kino_text("[memory]", "cpu_instant_event");
    window = ++windows;
    join_window(self(), windows);
    auto observer = at::RecordFunctionCallback(start_for(wanted), end)
                        .needsInputs(wanted & SHAPES)
                        .needsIds(wanted & IDS); /* all scopes, as PyTorch's own */
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
    window = 0;
    leave_window_everywhere();
}

/* -- traces on request -- */

std::atomic<uint32_t> requested;
Sums before_request;

kino_status prepare(void *, const kino_client_request *request, kino_error *)
{
    uint32_t wanted = 0;
    if (request->flags & KINO_CLIENT_SHAPES || request->flags & KINO_CLIENT_FLOPS)
        wanted |= SHAPES;
    if (request->flags & KINO_CLIENT_MEMORY)
        wanted |= MEMORY;
    if (request->flags & KINO_CLIENT_MODULES)
        wanted |= MODULES;
    requested = wanted;
    return KINO_OK;
}

void begin_request(void *)
{
    before_request = all_counts();
    enable(requested);
}

/* What recording cost, as kino.profile says it. */
void end_request(void *, bool)
{
    disable();
    Sums now = all_counts();
    uint64_t timed = now.sampled - before_request.sampled, ns = now.ns - before_request.ns;
    kino_session_state session = {};
    session.size = sizeof session;
    kino_session_get(&session);
    char mean[32] = "null", text[200];
    if (timed)
        std::snprintf(mean, sizeof mean, "%.1f", static_cast<double>(ns) / timed);
    std::snprintf(text, sizeof text,
                  "{\"operator_calls\": %llu, \"timed_calls\": %llu, \"ns_per_call\": %s, "
                  "\"dropped\": %llu}",
                  static_cast<unsigned long long>(now.calls - before_request.calls),
                  static_cast<unsigned long long>(timed), mean,
                  static_cast<unsigned long long>(session.dropped));
    (void)kino_metadata("kino_overhead", text, nullptr);
}

} // namespace

#define BRIDGE_API extern "C" __attribute__((visibility("default")))

#define TEXT_OF(macro) TEXT_OF_VALUE(macro)
#define TEXT_OF_VALUE(value) #value
/* Read from the file before it is loaded (python/kino/_bridge.py). */
BRIDGE_API const char kino_torch_stamp[];
const char kino_torch_stamp[] =
    "kino-torch-stamp torch=" TORCH_VERSION " cxx11abi=" TEXT_OF(_GLIBCXX_USE_CXX11_ABI) " end";

/* The version of PyTorch that this was built with: "2.13.0". */
BRIDGE_API const char *kino_torch_version(void)
{
    return TORCH_VERSION;
}

/* The bits that kino_torch_enable knows. */
BRIDGE_API uint32_t kino_torch_features(void)
{
    return FEATURES;
}

/* bits: 1 shapes, 2 memory, 4 the calling thread alone, 8 overloads, 16 modules of TorchScript,
 * 32 numbers of functions. */
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
    Sums sums = all_counts();
    *calls = sums.calls;
    *sampled = sums.sampled;
    *ns = sums.ns;
}
