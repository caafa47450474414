/* demo_frame.c - what a demo file has around its events: device properties, metadata keys, rows'
 * names, spans.
 *
 * Small and written once a file, so plain printf serves. Only integers and strings are printed:
 * nothing here depends on a locale. */
#include <inttypes.h>

#include "base/decimal.h"
#include "base/error.h"
#include "demo/demo_json.h"

enum { GPUS = 8, GPU_ROWS = 16, SPANS_SORT = 536870912, GPU_SORT = 5000000 };

static kino_status send(kino__demo_text *out, kino__buffer *text, kino_error *err)
{
    kino_status st = text->failed ? kino__fail_nomem(err) : KINO_OK;
    if (st == KINO_OK)
        st = kino__demo_text_flush(out, err);
    if (st == KINO_OK && out->sink)
        st = kino__sink_write(out->sink, kino__buffer_str(text), err);
    out->written += text->size;
    kino__buffer_deinit(text);
    return st;
}

static void add_devices(kino__buffer *b)
{
    kino__buffer_add(b, KINO__STR("  \"deviceProperties\": [\n"));
    for (int i = 0; i < GPUS; i++)
        kino__buffer_printf(
            b,
            "    {\n"
            "      \"id\": %d, \"name\": \"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\": "
            "85017755648,\n"
            "      \"computeMajor\": 9, \"computeMinor\": 0,\n"
            "      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n"
            "      \"regsPerBlock\": 65536, \"warpSize\": 32,\n"
            "      \"sharedMemPerBlock\": 49152, \"numSms\": 132\n"
            "    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 232448, "
            "\"sharedMemPerMultiprocessor\": 233472\n"
            "    }%s\n",
            i, i + 1 < GPUS ? "," : "");
    kino__buffer_add(b, KINO__STR("  ],\n"));
}

static void add_metadata(kino__buffer *b, const kino__demo_text *out, const kino__demo_shape *shape)
{
    kino__buffer_printf(b,
                        "  \"host_name\": \"demo-node-%u\",\n"
                        "  \"cupti_version\": 26,\n  \"cuda_runtime_version\": 12080,\n  "
                        "\"cuda_driver_version\": 12080,\n"
                        "  \"record_shapes\": 1,\n  \"with_stack\": 1,\n  \"profile_memory\": 1,\n "
                        " \"with_modules\": 1,\n"
                        "  \"trace_id\": \"%016" PRIX64 "%016" PRIX64 "\",\n",
                        out->rank / GPUS, shape->seed * 0x9e3779b97f4a7c15u,
                        (uint64_t)out->rank + 1);
    kino__buffer_printf(b,
                        "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %u, "
                        "\"world_size\": %u, \"pg_count\": 1, "
                        "\"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", "
                        "\"backend_config\": \"cuda:nccl\", "
                        "\"pg_size\": %u, \"ranks\": [",
                        out->rank, shape->ranks, shape->ranks);
    for (unsigned r = 0; r < shape->ranks; r++)
        kino__buffer_printf(b, "%s%u", r ? ", " : "", r);
    kino__buffer_add(b, KINO__STR("]}], \"nccl_version\": \"2.26.2\"},\n"));
    kino__buffer_printf(b,
                        "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": %" PRId64
                        ",\n  \"traceEvents\": [",
                        out->base_ns);
}

/* value: JSON text */
static void add_row(kino__buffer *b, const char *name, const char *us, int64_t pid, int64_t tid,
                    const char *key, const char *value)
{
    kino__buffer_printf(b,
                        "\n  {\n    \"name\": \"%s\", \"ph\": \"M\", \"ts\": %s, \"pid\": %" PRId64
                        ", \"tid\": %" PRId64 ",\n    \"args\": {\n      \"%s\": %s\n    }\n  },",
                        name, us, pid, tid, key, value);
}

static void add_process(kino__buffer *b, const char *us, int64_t pid, const char *labels,
                        int64_t sort)
{
    char number[KINO__DECIMAL_MAX + 1];
    number[kino__format_int(sort, number)] = 0;
    add_row(b, "process_name", us, pid, 0, "name", "\"python3\"");
    add_row(b, "process_labels", us, pid, 0, "labels", labels);
    add_row(b, "process_sort_index", us, pid, 0, "sort_index", number);
}

static void add_thread(kino__buffer *b, const char *us, int64_t pid, int64_t tid, const char *name)
{
    char number[KINO__DECIMAL_MAX + 1];
    number[kino__format_int(tid, number)] = 0;
    add_row(b, "thread_name", us, pid, tid, "name", name);
    add_row(b, "thread_sort_index", us, pid, tid, "sort_index", number);
}

static void add_rows(kino__buffer *b, const kino__demo_text *out, const char *us)
{
    add_process(b, us, out->pid, "\"CPU\"", out->pid);
    for (int i = 0; i < GPU_ROWS; i++) {
        char label[16] = "\"GPU ";
        size_t size = 5 + kino__format_int(i, label + 5);
        memcpy(label + size, "\"", 2);
        add_process(b, us, i, label, GPU_SORT + i);
    }
    add_thread(b, us, out->device, 7, "\"stream 7 \"");
    add_thread(b, us, out->device, 20, "\"stream 20 \"");
    add_thread(b, us, out->device, 24, "\"stream 24 \"");
    kino__buffer name = {0};
    kino__buffer_printf(&name, "\"thread %" PRId64 " (python3)\"",
                        out->tid[KINO__DEMO_THREAD_MAIN]);
    size_t second = name.size + 1;
    kino__buffer_add(&name, (kino_str){"", 1});
    kino__buffer_printf(&name, "\"thread %" PRId64 " (pt_autograd_%u)\"",
                        out->tid[KINO__DEMO_THREAD_AUTOGRAD], out->device);
    kino__buffer_add(&name, (kino_str){"", 1});
    if (name.failed) {
        b->failed = true;
    } else {
        add_thread(b, us, out->pid, out->tid[KINO__DEMO_THREAD_MAIN], name.data);
        add_thread(b, us, out->pid, out->tid[KINO__DEMO_THREAD_AUTOGRAD], name.data + second);
    }
    kino__buffer_deinit(&name);
}

kino_status kino__demo_text_head(kino__demo_text *out, const kino__demo_shape *shape,
                                 kino_error *err)
{
    kino__buffer b = {0};
    char us[KINO__DECIMAL_MAX + 8];
    us[kino__format_us(shape->start_ns - out->base_ns, us)] = 0;
    kino__buffer_add(&b, KINO__STR("\n{\n  \"schemaVersion\": 1,\n"));
    add_devices(&b);
    add_metadata(&b, out, shape);
    add_rows(&b, out, us);
    return send(out, &b, err);
}

kino_status kino__demo_text_tail(kino__demo_text *out, const kino__demo_shape *shape,
                                 int64_t end_ns, kino_error *err)
{
    kino__buffer b = {0};
    char us[KINO__DECIMAL_MAX + 8], dur[KINO__DECIMAL_MAX + 8], end[KINO__DECIMAL_MAX + 8];
    us[kino__format_us(shape->start_ns - out->base_ns, us)] = 0;
    dur[kino__format_us(end_ns - shape->start_ns, dur)] = 0;
    end[kino__format_us(end_ns + 250000 - out->base_ns, end)] = 0;
    kino__buffer_printf(&b,
                        "\n  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": %s, \"dur\": %s,\n  "
                        "  \"pid\": \"Spans\", "
                        "\"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n "
                        "   \"args\": {\n      "
                        "\"Op count\": 0\n    }\n  },",
                        us, dur);
    kino__buffer_printf(&b,
                        "\n  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": %s,\n "
                        "   \"pid\": \"Spans\", "
                        "\"tid\": 0,\n    \"args\": {\n      \"sort_index\": %d\n    }\n  },",
                        us, SPANS_SORT);
    kino__buffer_printf(
        &b,
        "\n  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": "
        "\"g\",\n    "
        "\"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": %s\n  },",
        us);
    kino__buffer_printf(
        &b,
        "\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": "
        "\"\", "
        "\"tid\": \"\", \"ts\": %s\n  }\n  ],\n  \"traceName\": \"rank-%u.json\"\n}",
        end, out->rank);
    return send(out, &b, err);
}
