/* simdjson_load.cc - the peer: simdjson On-Demand taking the same fields of a trace into arrays.
 *
 * Written as somebody would who knows simdjson and wants it fast: one pass over the document in
 * file order, any key order, no DOM, keys compared raw, names and categories interned by their raw
 * token so that only new ones are unescaped, arguments as spans of the text with correlation and
 * External id taken out. Each of these was measured against the other ways that simdjson offers
 * (get_string, unescaped_key, digits from the raw token): all are slower. What it is spared:
 * tracks, sorting, damage, flow ids, keys that it does not know. One pass is mapping the file (the
 * same mapping that kino uses, all pages asked for at once), stage 1, and the walk.
 *
 * The front end is compiled for AVX2 (cmake/KinoBench.cmake), stage 1 chooses its level at run
 * time. */
#include <cmath>
#include <memory>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <vector>

#include "bench.h"

extern "C" {
#include "base/file.h"
}

namespace ondemand = simdjson::ondemand;

#define TEXT_OF(x)    #x
#define VERSION_OF(x) TEXT_OF(x)

namespace
{

constexpr int64_t NO_INT = INT64_MIN;
constexpr uint32_t NO_STRING = UINT32_MAX;

[[noreturn]] void die(simdjson::error_code error)
{
    bench_die("simdjson cannot read:", simdjson::error_message(error));
}

void check(simdjson::error_code error)
{
    if (simdjson_unlikely(error))
        die(error);
}

/* Texts to numbers: open addressing, a multiplying hash over eight bytes at a time. */
class Interner
{
  public:
    Interner() : slots(1 << 12)
    {
    }

    /* The number of a raw token, quotes and all; its plain text is made when it is new. */
    uint32_t raw(std::string_view token)
    {
        uint64_t hash = hash_of(token);
        for (size_t at = hash & (slots.size() - 1);; at = (at + 1) & (slots.size() - 1)) {
            const Slot &slot = slots[at];
            if (slot.id == NO_STRING)
                return add(token, hash);
            if (slot.hash == hash && slot.text == token)
                return slot.id;
        }
    }

    std::string_view text(uint32_t id) const
    {
        return texts[id];
    }

  private:
    struct Slot {
        uint64_t hash = 0;
        std::string_view text;
        uint32_t id = NO_STRING;
    };

    static uint64_t hash_of(std::string_view text)
    {
        uint64_t hash = text.size();
        size_t at = 0;
        for (; at + 8 <= text.size(); at += 8)
            hash = mix(hash ^ word(text.data() + at, 8));
        if (at < text.size())
            hash = mix(hash ^ word(text.data() + at, text.size() - at));
        return hash ^ hash >> 32;
    }

    static uint64_t mix(uint64_t x)
    {
        __uint128_t product = static_cast<__uint128_t>(x) * 0x9e3779b97f4a7c15u;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }

    /* The document is padded: eight bytes can always be loaded. */
    static uint64_t word(const char *at, size_t size)
    {
        uint64_t value;
        memcpy(&value, at, 8);
        return size == 8 ? value : value & ((uint64_t{1} << size * 8) - 1);
    }

    uint32_t add(std::string_view token, uint64_t hash)
    {
        if ((used + 1) * 2 > slots.size())
            grow();
        uint32_t id = unescaped(token);
        insert({hash, token, id});
        used++;
        return id;
    }

    /* Two spellings of one text get two numbers; nobody writes both. */
    uint32_t unescaped(std::string_view token)
    {
        std::string_view inside = token.substr(1, token.size() - 2);
        if (inside.find('\\') == inside.npos) {
            texts.emplace_back(inside);
            return static_cast<uint32_t>(texts.size() - 1);
        }
        simdjson::padded_string padded(token);
        ondemand::parser small;
        ondemand::document document;
        std::string_view text;
        check(small.iterate(padded).get(document));
        check(document.get_string().get(text));
        texts.emplace_back(text);
        return static_cast<uint32_t>(texts.size() - 1);
    }

    void insert(const Slot &slot)
    {
        size_t at = slot.hash & (slots.size() - 1);
        while (slots[at].id != NO_STRING)
            at = (at + 1) & (slots.size() - 1);
        slots[at] = slot;
    }

    void grow()
    {
        std::vector<Slot> old(slots.size() * 2);
        old.swap(slots);
        for (const Slot &slot : old)
            if (slot.id != NO_STRING)
                insert(slot);
    }

    std::vector<Slot> slots;
    std::vector<std::string> texts;
    size_t used = 0;
};

/* A row on its way into the columns. */
struct Event {
    uint8_t phase = 0;
    uint32_t category = NO_STRING, name = NO_STRING;
    int64_t pid = NO_INT, tid = NO_INT; /* a text is its number, negated less one */
    int64_t ts = NO_INT, dur = NO_INT;
    int64_t correlation = NO_INT, external = NO_INT;
    std::string_view args;
};

struct Columns {
    std::vector<uint8_t> phase;
    std::vector<uint32_t> category, name;
    std::vector<int64_t> pid, tid, ts, dur, correlation, external;
    std::vector<std::string_view> args;
    Interner strings;
    int64_t base_ns = 0;

    void reserve(size_t rows)
    {
        phase.reserve(rows);
        category.reserve(rows);
        name.reserve(rows);
        for (auto *column : {&pid, &tid, &ts, &dur, &correlation, &external})
            column->reserve(rows);
        args.reserve(rows);
    }

    void add(const Event &event)
    {
        phase.push_back(event.phase);
        category.push_back(event.category);
        name.push_back(event.name);
        pid.push_back(event.pid);
        tid.push_back(event.tid);
        ts.push_back(event.ts);
        dur.push_back(event.dur);
        correlation.push_back(event.correlation);
        external.push_back(event.external);
        args.push_back(event.args);
    }
};

/* Microseconds with three decimals as ns: exact as long as a double holds them, which Kineto sees
 * to. */
int64_t time_ns(ondemand::value value)
{
    double number;
    if (value.get_double().get(number))
        return NO_INT;
    return static_cast<int64_t>(std::nearbyint(number * 1000));
}

int64_t integer(ondemand::value value)
{
    int64_t number;
    return value.get_int64().get(number) ? NO_INT : number;
}

/* A raw token with no blanks behind it. */
std::string_view trimmed(std::string_view token)
{
    while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ')
        token.remove_suffix(1);
    return token;
}

uint32_t text(ondemand::value value, Interner &strings)
{
    std::string_view token = trimmed(value.raw_json_token());
    return token.size() >= 2 && token[0] == '"' ? strings.raw(token) : NO_STRING;
}

int64_t label(ondemand::value value, Interner &strings)
{
    if (*value.raw_json_token().data() == '"')
        return -1 - static_cast<int64_t>(text(value, strings));
    return integer(value);
}

template <size_t size> bool key_is(const char *key, const char (&name)[size])
{
    return memcmp(key, name, size - 1) == 0 && key[size - 1] == '"';
}

void read_args(ondemand::value value, Event &event)
{
    ondemand::object object;
    if (value.get_object().get(object))
        return;
    for (auto field : object) {
        ondemand::value inner;
        const char *key = field.key().value_unsafe().raw();
        if (*key == 'c' && key_is(key, "correlation")) {
            check(field.value().get(inner));
            event.correlation = integer(inner);
        } else if (*key == 'E' && key_is(key, "External id")) {
            check(field.value().get(inner));
            event.external = integer(inner);
        }
        check(field.error());
    }
    std::string_view span;
    check(object.raw_json().get(span));
    event.args = trimmed(span);
}

void read_field(const char *key, ondemand::value value, Columns &columns, Event &event)
{
    switch (*key) {
    case 'p':
        if (key_is(key, "ph"))
            event.phase = static_cast<uint8_t>(value.raw_json_token().data()[1]);
        else if (key_is(key, "pid"))
            event.pid = label(value, columns.strings);
        break;
    case 't':
        if (key_is(key, "ts"))
            event.ts = time_ns(value);
        else if (key_is(key, "tid"))
            event.tid = label(value, columns.strings);
        break;
    case 'c':
        if (key_is(key, "cat"))
            event.category = text(value, columns.strings);
        break;
    case 'n':
        if (key_is(key, "name"))
            event.name = text(value, columns.strings);
        break;
    case 'd':
        if (key_is(key, "dur"))
            event.dur = time_ns(value);
        break;
    case 'a':
        if (key_is(key, "args"))
            read_args(value, event);
        break;
    default:
        break;
    }
}

void read_events(ondemand::array events, Columns &columns)
{
    for (auto element : events) {
        ondemand::object object;
        check(element.get_object().get(object));
        Event event;
        for (auto field : object) {
            ondemand::value value;
            check(field.value().get(value));
            read_field(field.key().value_unsafe().raw(), value, columns, event);
        }
        columns.add(event);
    }
}

void read_document(ondemand::document &document, Columns &columns)
{
    ondemand::json_type type;
    check(document.type().get(type));
    if (type == ondemand::json_type::array) {
        ondemand::array events;
        check(document.get_array().get(events));
        read_events(events, columns);
        return;
    }
    ondemand::object top;
    check(document.get_object().get(top));
    for (auto field : top) {
        ondemand::value value;
        check(field.value().get(value));
        const char *key = field.key().value_unsafe().raw();
        if (key_is(key, "traceEvents")) {
            ondemand::array events;
            check(value.get_array().get(events));
            read_events(events, columns);
        } else if (key_is(key, "baseTimeNanoseconds")) {
            check(value.get_int64().get(columns.base_ns));
        }
    }
}

uint64_t present(int64_t value)
{
    return value == NO_INT ? 0 : static_cast<uint64_t>(value);
}

void add_checks(const Columns &columns, bench_result &result)
{
    uint64_t ts = 0, dur = 0, correlation = 0, external = 0, name = 0, category = 0, args = 0;
    for (size_t row = 0; row < columns.phase.size(); row++) {
        if (columns.phase[row] != 'M')
            ts += static_cast<uint64_t>(columns.ts[row]) + static_cast<uint64_t>(columns.base_ns);
        dur += present(columns.dur[row]);
        correlation += present(columns.correlation[row]);
        external += present(columns.external[row]);
        if (columns.name[row] != NO_STRING)
            name += columns.strings.text(columns.name[row]).size();
        if (columns.category[row] != NO_STRING)
            category += columns.strings.text(columns.category[row]).size();
        args += columns.args[row].size();
    }
    bench_add_check(&result, "events", columns.phase.size());
    bench_add_check(&result, "ts_ns", ts);
    bench_add_check(&result, "dur_ns", dur);
    bench_add_check(&result, "correlation", correlation);
    bench_add_check(&result, "external_id", external);
    bench_add_check(&result, "name_bytes", name);
    bench_add_check(&result, "cat_bytes", category);
    bench_add_check(&result, "args_bytes", args);
}

} // namespace

/* One pass. A function of its own, with a name that callgrind can find. The mapping stays: columns
 * point into it. */
extern "C" __attribute__((noinline)) void bench_simdjson_pass(const char *path, kino__file *file,
                                                              void *parser, void *columns);

extern "C" void bench_simdjson_pass(const char *path, kino__file *file, void *parser, void *columns)
{
    kino_error err;
    if (kino__file_open(path, file, &err) != KINO_OK)
        bench_die("cannot open:", err.message);
    kino__file_will_need(file, 0, file->size);
    auto *out = static_cast<Columns *>(columns);
    out->reserve(file->size / 256);
    ondemand::document document;
    check(static_cast<ondemand::parser *>(parser)
              ->iterate(file->data, file->size, file->size + simdjson::SIMDJSON_PADDING)
              .get(document));
    read_document(document, *out);
}

int main(int argc, char **argv)
{
    bench_options options = bench_parse(argc, argv);
    bench_result result = {};
    std::string with = "simdjson " VERSION_OF(SIMDJSON_VERSION) " ";
    with += simdjson::get_active_implementation()->name();
    result.bench = "simdjson_load";
    result.with = with.c_str();
    result.jobs = 1;
    bench_warm(options.path);

    ondemand::parser parser; /* kept from pass to pass, as its makers advise */
    bench_sampler sampler;
    bench_sampler_start(&sampler, options.memory);
    for (unsigned pass = 0; pass < options.passes; pass++) {
        auto columns = std::make_unique<Columns>();
        kino__file file = {};
        bench_pass_begin(&result);
        bench_simdjson_pass(options.path, &file, &parser, columns.get());
        bench_pass_end(&result);
        result.bytes = file.size;
        if (pass + 1 == options.passes) {
            result.peak_bytes = bench_sampler_stop(&sampler);
            add_checks(*columns, result);
        }
        kino__file_close(&file);
    }
    bench_print(&result);
    return 0;
}
