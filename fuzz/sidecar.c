/* sidecar.c - any bytes as the file beside a trace (TRACE.kino-meta): it is taken or ignored with a
 * reason, and the trace stays in order. Bytes behind a NUL are what the trace says of its process
 * itself, where they are JSON. */
#include "engine/sidecar.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
#include "base/process_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

/* The object of a key; also what others read with the same parser. */
static void check_object(kino_str text, kino__arena *arena)
{
    const kino__json_in *root;
    require(kino__json_in_parse(text, NULL, arena, &root, NULL) == KINO_OK);
    require(root->kind == KINO__JSON_IN_OBJECT);
}

static void check_trace(const kino__trace *trace, kino__arena *arena, bool is_taken)
{
    kino_str info = kino__trace_metadata(trace, "distributedInfo");
    kino__buffer redacted = {0};
    require(trace->rank == KINO_NO_INT || trace->rank >= 0);
    require(trace->world_size == KINO_NO_INT || trace->world_size >= 1);
    require(trace->role >= KINO__PROCESS_UNKNOWN && trace->role <= KINO__PROCESS_HELPER);
    if (trace->role == KINO__PROCESS_LAUNCHER || trace->role == KINO__PROCESS_HELPER)
        require(trace->rank == KINO_NO_INT);
    require(is_taken || (trace->rank == KINO_NO_INT && info.size == 0));
    if (info.size)
        check_object(info, arena);
    if (is_taken && trace->role != KINO__PROCESS_UNKNOWN)
        check_object(kino__trace_metadata(trace, "kino_process"), arena);
    kino__sidecar_redact(trace, &redacted);
    check_object(kino__buffer_str(&redacted), arena);
    kino__buffer_deinit(&redacted);
}

static void add_own(kino__trace *trace, kino_str own, kino__arena *arena)
{
    const kino__json_in *root;
    if (kino__json_in_parse(own, NULL, arena, &root, NULL) == KINO_OK)
        require(kino__trace_add_metadata(trace, KINO__STR("kino_process"), own));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino__trace *trace = NULL;
    kino__arena arena;
    const char *warning, *again;
    char *text = malloc(size + 1);
    require(text && kino__trace_new(&trace, NULL) == KINO_OK);
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    kino__arena_init(&arena, NULL);
    size_t length = strlen(text);
    if (length < size)
        add_own(trace, (kino_str){text + length + 1, size - length - 1}, &arena);
    require(kino__sidecar_apply(trace, text, &arena, &warning, NULL) == KINO_OK);
    check_trace(trace, &arena, !warning);
    int64_t rank = trace->rank;
    kino__process_role role = trace->role;
    size_t count = trace->metadata.count;
    require(kino__sidecar_apply(trace, text, &arena, &again, NULL) == KINO_OK);
    require(!warning == !again && trace->rank == rank && trace->role == role);
    require(trace->metadata.count == count);
    kino__arena_deinit(&arena);
    kino__trace_free(trace);
    free(text);
    return 0;
}
