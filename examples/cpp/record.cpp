/* record.cpp - recording a C++ program with kino.hpp: zones, operators, a listener of one's own.
 *
 *   c++ -std=c++17 record.cpp $(pkg-config --cflags --libs kino) -o record
 *   ./record trace.json && kino report trace.json */
#include <cstdio>

#include <kino/kino.hpp>

static void *count_start(const kino_record_function *, void *user)
{
    ++*static_cast<int *>(user);
    return nullptr;
}

/* An operator says what it works on only when somebody wants to know. */
static void multiply(int64_t rows, int64_t columns, int64_t sequence)
{
    const int64_t dims[] = {rows, columns};
    kino_record_value inputs[2] = {};
    kino::RecordFunction fn(KINO_SCOPE_FUNCTION, [&](kino_record_details &details, uint32_t needs) {
        details.name = "example::multiply";
        details.sequence = sequence;
        if (needs & KINO_RECORD_INPUTS) {
            inputs[0] = kino_value_tensor("float", dims, nullptr, 2);
            inputs[1] = kino_value_double(0.5);
            details.inputs = inputs;
            details.input_count = 2;
        }
    });
    kino::Zone zone("inner loop");
    zone.arg("rows", rows).arg("ratio", 0.25).arg("last", rows == 4).arg("kind", "dense");
}

int main(int argc, char **argv)
{
    kino_record_spans_options spans = KINO_RECORD_SPANS_INIT;
    spans.with_inputs = true;
    if (kino_record_spans_set(&spans, nullptr) != KINO_OK)
        return 1;
    kino::Session session;

    int count = 0;
    kino_record_callback listener = KINO_RECORD_CALLBACK_INIT;
    listener.start = count_start;
    listener.user = &count;
    kino::Callback callback = kino::Callback::global(listener);

    for (int i = 1; i <= 4; i++) {
        multiply(i, 8, i);
        kino::RecordGuard off(false);
        multiply(i, 8, i); /* nobody sees this operator, but its zone is there */
    }
    if (!session.ok() || !session.save(argc > 1 ? argv[1] : "trace.json")) {
        std::fprintf(stderr, "record: %s\n", session.error().message);
        return 1;
    }
    std::printf("%d operators\n", count);
    return 0;
}
