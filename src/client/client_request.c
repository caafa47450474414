/* client_request.c - requests to our daemon, and what both kinds share. See client_request.h. */
#include "client/client_request.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json_out.h"
#include "client/client_dynolog.h"

/* -- the request -- */

static void add_int(kino__json *json, const char *key, int64_t value)
{
    if (value == KINO_NO_INT)
        return;
    kino__json_key(json, key);
    kino__json_int(json, value);
}

static void add_flag(kino__json *json, const char *key, bool value)
{
    if (!value)
        return;
    kino__json_key(json, key);
    kino__json_bool(json, true);
}

static void add_who(kino__json *json, const kino__on_demand_options *o)
{
    if (o->pid_count) {
        kino__json_key(json, "pids");
        kino__json_begin_array(json);
        for (size_t i = 0; i < o->pid_count; i++)
            kino__json_int(json, o->pids[i]);
        kino__json_end_array(json);
    }
    add_int(json, "job", o->job);
    if (o->name) {
        kino__json_key(json, "name");
        kino__json_text(json, o->name);
    }
    add_flag(json, "all", o->all);
    add_int(json, "process_limit", o->process_limit);
}

static void add_what(kino__json *json, const kino__on_demand_options *o)
{
    if (o->activity_count) {
        kino__json_key(json, "activities");
        kino__json_begin_array(json);
        for (size_t i = 0; i < o->activity_count; i++)
            kino__json_text(json, o->activities[i]);
        kino__json_end_array(json);
    }
    if (o->output) {
        kino__json_key(json, "output");
        kino__json_text(json, o->output);
    }
    if (o->wants_kino) {
        kino__json_key(json, "format");
        kino__json_text(json, "kino");
    }
    add_flag(json, "record_shapes", o->record_shapes);
    add_flag(json, "with_stacks", o->with_stacks);
    add_flag(json, "profile_memory", o->profile_memory);
    add_flag(json, "with_flops", o->with_flops);
    add_flag(json, "with_modules", o->with_modules);
    add_flag(json, "gpu_only", o->gpu_only);
}

static void write_request(kino__buffer *out, const kino__on_demand_options *o)
{
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    kino__json_key(&json, "fn");
    kino__json_text(&json, "trigger");
    add_who(&json, o);
    add_int(&json, "duration_ms", o->duration_ms);
    add_int(&json, "iterations", o->iterations);
    add_int(&json, "iteration_roundup", o->round_up);
    add_int(&json, "start_ms", o->start_ms);
    add_int(&json, "warmup_ms", o->warmup_ms);
    add_int(&json, "timeout_ms", o->timeout_ms);
    add_what(&json, o);
    kino__json_end_object(&json);
}

/* -- the answer -- */

static bool is_end(const char *state)
{
    static const char *const open[] = {"queued", "delivered", "warming-up", "recording"};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (strcmp(state, open[i]) == 0)
            return false;
    return true;
}

/* A number that fits, or -1. */
static int64_t id_of(const kino__json_in *object, const char *key)
{
    int64_t id = kino__json_in_int(object, key);
    return id >= 0 && id < (int64_t)UINT32_MAX ? id : -1;
}

/* Whose file it is, by the daemon: it is there when the process is not any more. */
static kino__collect_from owner_of(const kino__client *client, const kino__json_in *target)
{
    int64_t pid = kino__json_in_int(target, "pid"), uid = id_of(target, "uid"),
            gid = id_of(target, "gid"), start = kino__json_in_int(target, "start_time"),
            space = kino__json_in_int(target, "file_space");
    return (kino__collect_from){.pid = pid > 0 && pid <= INT32_MAX ? (int32_t)pid : 0,
                                .has_owner = uid >= 0 && gid >= 0,
                                .uid = (uid_t)uid,
                                .gid = (gid_t)gid,
                                .start_time = start > 0 ? (uint64_t)start : 0,
                                .file_space = space > 0 ? (uint64_t)space : 0,
                                .only_uid = kino__client_limit(client)};
}

/* Takes the answer: texts stay where they are. */
static kino_status take_answer(const kino__client *client, kino__on_demand *t,
                               kino__client_answer *answer, kino_error *err)
{
    kino__arena_deinit(&t->arena);
    t->arena = answer->arena;
    t->targets.count = 0;
    const kino__json_in *number = kino__json_in_member(answer->root, "request");
    if (number && number->kind == KINO__JSON_IN_NUMBER)
        (void)snprintf(t->request, sizeof t->request, "%.*s", KINO__STR_ARG(number->text));
    t->reason = kino__json_in_string(answer->root, "reason");
    t->matched = kino__json_in_int(answer->root, "matched");
    t->denied = kino__json_in_int(answer->root, "denied");
    const kino__json_in *one = kino__json_in_get_array(answer->root, "targets");
    for (; one; one = one->next) {
        kino__on_demand_target *slot = kino__vec_add(&t->targets);
        if (!slot)
            return kino__fail_nomem(err);
        const char *state = kino__json_in_string(one, "state");
        *slot = (kino__on_demand_target){.pid = kino__json_in_int(one, "pid"),
                                         .rank = kino__json_in_int(one, "rank"),
                                         .own_pid = kino__json_in_int(one, "own_pid"),
                                         .world_size = kino__json_in_int(one, "world_size"),
                                         .local_rank = kino__json_in_int(one, "local_rank"),
                                         .role = kino__json_in_string(one, "role"),
                                         .job = kino__json_in_string(one, "job_name"),
                                         .bytes = kino__json_in_int(one, "bytes"),
                                         .state = state ? state : "queued",
                                         .path = kino__json_in_string(one, "path"),
                                         .message = kino__json_in_string(one, "message"),
                                         .from = owner_of(client, one)};
        slot->has_ended = is_end(slot->state);
    }
    return KINO_OK;
}

static size_t array_count(const kino__json_in *object, const char *key)
{
    const kino__json_in *member = kino__json_in_member(object, key);
    return member && member->kind == KINO__JSON_IN_ARRAY ? member->count : 0;
}

kino_status kino__on_demand_send(const kino__client *client, const kino__on_demand_options *options,
                                 kino__on_demand *out, kino_error *err)
{
    *out = (kino__on_demand){0};
    kino__arena_init(&out->arena, NULL);
    if (client->kind == KINO__CLIENT_DYNOLOG)
        return kino__dynolog_send(client, options, out, err);
    kino__buffer request = {0};
    kino__client_answer answer;
    write_request(&request, options);
    kino_status st = request.failed
                         ? kino__fail_nomem(err)
                         : kino__client_call(client, kino__buffer_str(&request), &answer, err);
    kino__buffer_deinit(&request);
    KINO_TRY(st);
    out->busy = (int64_t)array_count(answer.root, "busy");
    return take_answer(client, out, &answer, err);
}

/* {"fn": FUNCTION, "request": NUMBER} */
static kino_status call_request(const kino__client *client, const char *function,
                                const char *request, kino__client_answer *answer, kino_error *err)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "{\"fn\":\"%s\",\"request\":%s}", function, request);
    kino_status st = text.failed ? kino__fail_nomem(err)
                                 : kino__client_call(client, kino__buffer_str(&text), answer, err);
    kino__buffer_deinit(&text);
    return st;
}

kino_status kino__on_demand_look(const kino__client *client, kino__on_demand *trigger,
                                 kino_error *err)
{
    if (client->kind == KINO__CLIENT_DYNOLOG)
        return kino__dynolog_look(client, trigger, err);
    kino__client_answer answer;
    int64_t matched = trigger->matched, denied = trigger->denied;
    KINO_TRY(call_request(client, "getRequest", trigger->request, &answer, err));
    kino_status st = take_answer(client, trigger, &answer, err);
    trigger->matched = matched;
    trigger->denied = denied;
    return st;
}

kino_status kino__on_demand_find(const kino__client *client, const char *request,
                                 kino__on_demand *out, kino_error *err)
{
    *out = (kino__on_demand){0};
    kino__arena_init(&out->arena, NULL);
    if (client->kind == KINO__CLIENT_DYNOLOG)
        return kino__fail(err, KINO_ARGUMENT,
                          "the daemon at %s is a Dynolog daemon, which has no request IDs",
                          client->place);
    (void)snprintf(out->request, sizeof out->request, "%s", request);
    return kino__on_demand_look(client, out, err);
}

kino_status kino__on_demand_cancel(const kino__client *client, const char *request, kino_error *err)
{
    if (client->kind == KINO__CLIENT_DYNOLOG)
        return kino__fail(err, KINO_ARGUMENT,
                          "the daemon at %s is a Dynolog daemon, which cannot cancel requests",
                          client->place);
    kino__client_answer answer;
    KINO_TRY(call_request(client, "cancel", request, &answer, err));
    kino__client_answer_deinit(&answer);
    return KINO_OK;
}

void kino__on_demand_deinit(kino__on_demand *trigger)
{
    kino__vec_deinit(&trigger->targets);
    kino__arena_deinit(&trigger->arena);
}

size_t kino__on_demand_open_count(const kino__on_demand *trigger)
{
    size_t count = 0;
    for (size_t i = 0; i < trigger->targets.count; i++)
        count += !trigger->targets.items[i].has_ended;
    return count;
}

size_t kino__on_demand_count(const kino__on_demand *trigger, const char *state)
{
    size_t count = 0;
    for (size_t i = 0; i < trigger->targets.count; i++)
        count += strcmp(trigger->targets.items[i].state, state) == 0;
    return count;
}
