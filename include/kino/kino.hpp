/* kino/kino.hpp - libkino for C++17: everything that begins in a constructor ends in the
 * destructor.
 *
 *   kino::Session session;                            prepared and started; see ok()
 *   {
 *       kino::Zone zone("load", "io");
 *       zone.arg("bytes", 4096);
 *   }
 *   kino::RecordFunction fn("aten::mm");              an operator, for whoever listens
 *   session.stop();
 *   session.save("trace.json");
 *
 * Header only, on top of the C functions; nothing throws, nothing needs exceptions or RTTI. The
 * macros of <kino/kino.h> (KINO_ZONE and so on) are the quickest way for fixed names and work in
 * C++ as they are. */
#ifndef KINO_KINO_HPP
#define KINO_KINO_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <kino/kino.h>
#include <kino/record_function.h>

namespace kino
{

/* A name that is looked up once: static const kino::Name name("load", "io"); kino::Zone
 * zone(name); */
class Name
{
  public:
    explicit Name(const char *name, const char *category = "cpu_op") noexcept
        : text_(kino_text(name, category))
    {
    }

    std::uint32_t text() const noexcept
    {
        return text_;
    }

  private:
    std::uint32_t text_;
};

/* A span from here to the end of the block. Can be moved, also to another thread. */
class Zone
{
  public:
    explicit Zone(const char *name, const char *category = "cpu_op") noexcept
        : span_(kino_is_recording() ? kino_begin(name, category) : kino_span{0})
    {
    }
    explicit Zone(const Name &name) noexcept
        : span_(kino_is_recording() ? kino_begin_text(name.text()) : kino_span{0})
    {
    }
    Zone(Zone &&other) noexcept : span_(std::exchange(other.span_, kino_span{0}))
    {
    }
    Zone &operator=(Zone &&other) noexcept
    {
        if (this != &other) {
            end();
            span_ = std::exchange(other.span_, kino_span{0});
        }
        return *this;
    }
    Zone(const Zone &) = delete;
    Zone &operator=(const Zone &) = delete;
    ~Zone()
    {
        end();
    }

    /* Before the end of the block; again: nothing. */
    void end() noexcept
    {
        kino_end(std::exchange(span_, kino_span{0}));
    }

    template <typename T> Zone &arg(const char *key, T value) noexcept
    {
        if constexpr (std::is_same_v<T, bool>)
            kino_arg_bool(span_, key, value);
        else if constexpr (std::is_floating_point_v<T>)
            kino_arg_double(span_, key, static_cast<double>(value));
        else if constexpr (std::is_convertible_v<T, const char *>)
            kino_arg_text(span_, key, value);
        else if constexpr (std::is_enum_v<T>)
            kino_arg_int(span_, key, static_cast<std::int64_t>(value));
        else if constexpr (std::is_unsigned_v<T>)
            kino_arg_uint(span_, key, value);
        else {
            static_assert(std::is_integral_v<T>, "a number, a truth value or a text");
            kino_arg_int(span_, key, value);
        }
        return *this;
    }
    Zone &json(const char *key, const char *json) noexcept
    {
        kino_arg_json(span_, key, json);
        return *this;
    }
    Zone &sequence(std::int64_t number, std::uint64_t forward_thread = 0) noexcept
    {
        kino_set_sequence(span_, number, forward_thread);
        return *this;
    }

    kino_span span() const noexcept
    {
        return span_;
    }

  private:
    kino_span span_;
};

/* An operator that runs, to the end of the block. Stays where it is: callbacks hold its address. */
class RecordFunction
{
  public:
    /* With nothing but a name. */
    explicit RecordFunction(const char *name,
                            kino_record_scope scope = KINO_SCOPE_FUNCTION) noexcept
    {
        if (kino_record_open(&fn_, scope))
            kino_record_start_named(&fn_, name);
    }
    /* `fill` is called only when something listens: fill(details, needs) sets what it knows of the
     * operator. What it points to must last as long as this object. */
    template <typename Fill, typename = std::enable_if_t<
                                 std::is_invocable_v<Fill &, kino_record_details &, std::uint32_t>>>
    RecordFunction(kino_record_scope scope, Fill &&fill)
    {
        if (kino_record_open(&fn_, scope)) {
            kino_record_details details = KINO_RECORD_DETAILS_INIT;
            fill(details, fn_.needs);
            kino_record_start(&fn_, &details);
        }
    }
    RecordFunction(const RecordFunction &) = delete;
    RecordFunction &operator=(const RecordFunction &) = delete;
    ~RecordFunction()
    {
        end();
    }

    /* Before the end of the block; again: nothing. */
    void end() noexcept
    {
        kino_record_end(&fn_);
    }
    bool active() const noexcept
    {
        return fn_.callback_count != 0;
    }
    bool needs_outputs() const noexcept
    {
        return active() && (fn_.needs & KINO_RECORD_OUTPUTS) != 0;
    }
    void outputs(const kino_record_value *values, std::uint32_t count) noexcept
    {
        kino_record_set_outputs(&fn_, values, count);
    }

  private:
    kino_record_function fn_;
};

/* A callback that is there as long as this object. */
class Callback
{
  public:
    static Callback global(const kino_record_callback &callback) noexcept
    {
        Callback made;
        made.status_ = kino_record_add_global(&callback, &made.handle_, nullptr);
        return made;
    }
    /* Must end on the thread that made it. */
    static Callback local(const kino_record_callback &callback) noexcept
    {
        Callback made;
        made.status_ = kino_record_add_local(&callback, &made.handle_, nullptr);
        return made;
    }
    Callback(Callback &&other) noexcept
        : handle_(std::exchange(other.handle_, 0)), status_(other.status_)
    {
    }
    Callback(const Callback &) = delete;
    Callback &operator=(const Callback &) = delete;
    Callback &operator=(Callback &&) = delete;
    ~Callback()
    {
        if (handle_)
            (void)kino_record_remove(handle_, nullptr);
    }

    kino_status status() const noexcept
    {
        return status_;
    }
    std::uint64_t handle() const noexcept
    {
        return handle_;
    }

  private:
    Callback() noexcept = default;
    std::uint64_t handle_ = 0;
    kino_status status_ = KINO_OK;
};

/* Record functions are on or off on this thread to the end of the block. */
class RecordGuard
{
  public:
    explicit RecordGuard(bool enabled) noexcept : before_(kino_record_enable(enabled))
    {
    }
    RecordGuard(const RecordGuard &) = delete;
    RecordGuard &operator=(const RecordGuard &) = delete;
    ~RecordGuard()
    {
        kino_record_enable(before_);
    }

  private:
    bool before_;
};

/* What the calling thread listens with, for work that goes on elsewhere. */
class ThreadState
{
  public:
    ThreadState() noexcept : state_(kino_record_state_capture())
    {
    }
    ThreadState(ThreadState &&other) noexcept : state_(std::exchange(other.state_, nullptr))
    {
    }
    ThreadState(const ThreadState &) = delete;
    ThreadState &operator=(const ThreadState &) = delete;
    ThreadState &operator=(ThreadState &&) = delete;
    ~ThreadState()
    {
        kino_record_state_free(state_);
    }
    const kino_record_state *get() const noexcept
    {
        return state_;
    }

  private:
    kino_record_state *state_;
};

/* The calling thread has that state to the end of the block. */
class ThreadStateGuard
{
  public:
    explicit ThreadStateGuard(const ThreadState &state) noexcept
    {
        kino_record_state_install(state.get());
    }
    ThreadStateGuard(const ThreadStateGuard &) = delete;
    ThreadStateGuard &operator=(const ThreadStateGuard &) = delete;
    ~ThreadStateGuard()
    {
        kino_record_state_install(before_.get());
    }

  private:
    ThreadState before_;
};

/* A recording, with record functions as spans. Stopped at the end of the block when that has not
 * happened yet, and given up when it was not saved. One at a time in a process. */
class Session
{
  public:
    explicit Session(const kino_session_options &options) noexcept
    {
        begin(&options);
    }
    Session() noexcept
    {
        begin(nullptr);
    }
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;
    ~Session()
    {
        if (is_ours_) {
            kino_record_spans_enable(false);
            kino_discard();
        }
    }

    /* Did everything work so far? error() says what did not. */
    bool ok() const noexcept
    {
        return status_ == KINO_OK;
    }
    kino_status status() const noexcept
    {
        return status_;
    }
    const kino_error &error() const noexcept
    {
        return error_;
    }

    bool stop() noexcept
    {
        kino_record_spans_enable(false);
        return note(kino_stop(&error_));
    }
    /* Stops first when it must. */
    bool save(const char *path) noexcept
    {
        kino_session_state state{};
        state.size = sizeof state;
        kino_session_get(&state);
        if (state.phase == KINO_SESSION_RECORDING && !stop())
            return false;
        return note(kino_save(path, &error_));
    }
    static std::uint64_t step() noexcept
    {
        return kino_step();
    }

  private:
    void begin(const kino_session_options *options) noexcept
    {
        is_ours_ = note(kino_prepare(options, &error_));
        if (is_ours_ && note(kino_start(&error_)))
            kino_record_spans_enable(true);
    }
    bool note(kino_status status) noexcept
    {
        status_ = status;
        return status == KINO_OK;
    }

    kino_status status_ = KINO_OK;
    bool is_ours_ = false;
    kino_error error_{};
};

} // namespace kino

#endif
