/* Record functions on one thread: who is called, when, with what. */
#include <math.h>
#include <string.h>

#include <kino/record_function.h>

#include "unit/test.h"

/* What callbacks saw, as text: "a(" for the start of callback a, "a)" for its end. */
typedef struct journal {
    char text[256];
    size_t size;
} journal;

typedef struct listener {
    journal *journal;
    char letter;
    int starts, ends;
    int released;
    uint64_t to_remove; /* in start */
    kino_record_function last;
    const kino_record_value *inputs, *outputs;
    uint32_t input_count, output_count;
} listener;

static void write_down(listener *l, char what)
{
    if (l->journal && l->journal->size + 2 < sizeof l->journal->text) {
        l->journal->text[l->journal->size++] = l->letter;
        l->journal->text[l->journal->size++] = what;
    }
}

static void *on_start(const kino_record_function *fn, void *user)
{
    listener *l = user;
    l->starts++;
    l->last = *fn;
    l->inputs = fn->inputs;
    l->input_count = fn->input_count;
    write_down(l, '(');
    if (l->to_remove)
        CHECK_EQ(kino_record_remove(l->to_remove, NULL), KINO_OK);
    return &l->starts;
}

static void on_end(const kino_record_function *fn, void *context, void *user)
{
    listener *l = user;
    l->ends++;
    l->outputs = fn->outputs;
    l->output_count = fn->output_count;
    write_down(l, ')');
    CHECK(context == &l->starts); /* what its own start returned */
}

static void on_release(void *user)
{
    ((listener *)user)->released++;
}

static kino_record_callback callback_of(listener *l)
{
    kino_record_callback callback = KINO_RECORD_CALLBACK_INIT;
    callback.start = on_start;
    callback.end = on_end;
    callback.user = l;
    return callback;
}

static uint64_t add(listener *l, bool is_global)
{
    kino_record_callback callback = callback_of(l);
    uint64_t handle = 0;
    kino_status st = is_global ? kino_record_add_global(&callback, &handle, NULL)
                               : kino_record_add_local(&callback, &handle, NULL);
    REQUIRE_EQ(st, KINO_OK);
    REQUIRE(handle != 0);
    return handle;
}

static void run(kino_record_scope scope)
{
    kino_record_function fn;
    if (kino_record_open(&fn, scope))
        kino_record_start_named(&fn, "op");
    kino_record_end(&fn);
}

/* -- who is called */

TEST(record_function_is_nobodys_when_nobody_listens)
{
    kino_record_function fn;
    for (int scope = 0; scope < KINO_SCOPE_COUNT; scope++) {
        CHECK(!kino_record_open(&fn, (kino_record_scope)scope));
        CHECK_EQ(fn.callback_count, 0);
        kino_record_end(&fn);
    }
    /* and the fast path knows: no bit is set */
    CHECK_EQ(kino_impl_v1_record_self.scopes, 0);
}

TEST(record_function_runs_start_and_end_with_the_starts_context)
{
    listener l = {0};
    add(&l, true);
    kino_record_function fn;
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_BACKWARD_FUNCTION));
    CHECK_EQ(l.starts, 0);
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.name = "MmBackward0";
    details.sequence = 7;
    details.forward_thread = 3;
    details.debug_handle = 11;
    details.is_async = true;
    kino_record_start(&fn, &details);
    kino_record_start(&fn, &details); /* once for each open */
    CHECK_EQ(l.starts, 1);
    CHECK_EQ(l.ends, 0);
    CHECK_STR(l.last.name, "MmBackward0");
    CHECK_EQ((int)l.last.scope, 1);
    CHECK_EQ(l.last.sequence, 7);
    CHECK_EQ(l.last.forward_thread, 3);
    CHECK_EQ(l.last.debug_handle, 11);
    CHECK(l.last.is_async);
    CHECK_EQ(l.last.thread, kino_record_thread());
    kino_record_end(&fn);
    kino_record_end(&fn); /* again: nothing */
    CHECK_EQ(l.ends, 1);
}

TEST(record_function_has_defaults_for_what_is_not_said)
{
    listener l = {0};
    add(&l, true);
    run(KINO_SCOPE_FUNCTION);
    CHECK_STR(l.last.name, "op");
    CHECK_EQ(l.last.sequence, -1);
    CHECK_EQ(l.last.forward_thread, 0);
    CHECK_EQ(l.last.debug_handle, -1);
    CHECK_EQ(l.last.id, 0);
    CHECK(!l.last.is_async);
    CHECK(l.last.inputs == NULL);
}

TEST(record_function_that_was_not_started_has_no_end)
{
    listener l = {0};
    add(&l, true);
    kino_record_function fn;
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    kino_record_end(&fn);
    CHECK_EQ(l.starts, 0);
    CHECK_EQ(l.ends, 0);
}

TEST(record_function_calls_global_ones_first_then_those_of_the_thread)
{
    journal j = {0};
    listener a = {.journal = &j, .letter = 'a'}, b = {.journal = &j, .letter = 'b'};
    listener c = {.journal = &j, .letter = 'c'}, d = {.journal = &j, .letter = 'd'};
    add(&a, false);
    add(&b, true);
    add(&c, false);
    add(&d, true);
    run(KINO_SCOPE_FUNCTION);
    CHECK_STR(j.text, "b(d(a(c(b)d)a)c)");
}

TEST(record_functions_nest)
{
    journal j = {0};
    listener l = {.journal = &j, .letter = 'x'};
    add(&l, true);
    {
        KINO_RECORD_FUNCTION("outer");
        CHECK_STR(l.last.name, "outer");
        {
            KINO_RECORD_USER("inner");
            CHECK_STR(l.last.name, "inner");
            CHECK_EQ((int)l.last.scope, KINO_SCOPE_USER);
        }
        CHECK_STR(j.text, "x(x(x)");
        KINO_RECORD_SCOPE(KINO_SCOPE_KERNEL_LAUNCH, "second");
        CHECK_EQ((int)l.last.scope, 10);
    }
    CHECK_STR(j.text, "x(x(x)x(x)x)");
}

TEST(record_callbacks_see_their_scopes_only)
{
    for (uint32_t scope = 0; scope < KINO_SCOPE_COUNT; scope++) {
        listener l = {0};
        kino_record_callback callback = callback_of(&l);
        uint64_t handle;
        callback.scopes = 1u << scope;
        REQUIRE_EQ(kino_record_add_global(&callback, &handle, NULL), KINO_OK);
        for (uint32_t other = 0; other < KINO_SCOPE_COUNT; other++)
            run((kino_record_scope)other);
        CHECK_EQ(l.starts, 1);
        CHECK_EQ((uint32_t)l.last.scope, scope);
        REQUIRE_EQ(kino_record_remove(handle, NULL), KINO_OK);
    }
}

TEST(record_callbacks_may_have_only_one_half)
{
    listener a = {0}, b = {0};
    kino_record_callback start_only = callback_of(&a), end_only = callback_of(&b);
    start_only.end = NULL;
    end_only.start = NULL;
    REQUIRE_EQ(kino_record_add_global(&start_only, NULL, NULL), KINO_OK);
    run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(a.starts, 1);
    CHECK_EQ(a.ends, 0);
    kino_record_clear_global();
    end_only.end = NULL;
    REQUIRE_EQ(kino_record_add_global(&end_only, NULL, NULL), KINO_OK);
    run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(b.starts + b.ends, 0);
}

TEST(more_than_four_record_callbacks_all_run)
{
    enum { COUNT = KINO_RECORD_CALLBACKS_MAX };
    journal j = {0};
    listener l[COUNT + 1] = {0};
    char want[4 * COUNT + 1] = {0};
    for (int i = 0; i < COUNT; i++) {
        l[i].journal = &j;
        l[i].letter = (char)('A' + i);
        want[2 * i] = want[2 * (COUNT + i)] = l[i].letter;
        want[2 * i + 1] = '(';
        want[2 * (COUNT + i) + 1] = ')';
        add(&l[i], true);
    }
    run(KINO_SCOPE_FUNCTION);
    CHECK_STR(j.text, want);
    kino_record_callback one_more = callback_of(&l[COUNT]);
    one_more.release = on_release;
    kino_error err;
    uint64_t handle = 1;
    CHECK_EQ(kino_record_add_global(&one_more, &handle, &err), KINO_LIMIT);
    CHECK_STR(err.message, "too many callbacks (limit: 32)");
    CHECK_EQ(handle, 0);
    CHECK_EQ(l[COUNT].released, 0); /* it never was a callback */
}

TEST(four_record_callbacks_need_no_memory)
{
    listener l[5] = {0};
    kino_record_function fn;
    for (int i = 0; i < 4; i++)
        add(&l[i], i % 2);
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    CHECK_EQ(fn.callback_count, 4);
    CHECK(fn.more == NULL);
    kino_record_end(&fn);
    add(&l[4], true);
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    CHECK_EQ(fn.callback_count, 5);
    CHECK(fn.more != NULL);
    kino_record_end(&fn);
}

static void *run_inside(const kino_record_function *fn, void *user)
{
    (void)fn;
    (void)user;
    run(KINO_SCOPE_FUNCTION);
    return NULL;
}

TEST(record_functions_inside_callbacks_are_nobodys)
{
    listener l = {0};
    kino_record_callback callback = callback_of(&l);
    kino_record_callback busy = KINO_RECORD_CALLBACK_INIT;
    busy.start = run_inside;
    REQUIRE_EQ(kino_record_add_global(&busy, NULL, NULL), KINO_OK);
    REQUIRE_EQ(kino_record_add_global(&callback, NULL, NULL), KINO_OK);
    run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(l.starts, 1);
    run(KINO_SCOPE_FUNCTION); /* and it is over when they return */
    CHECK_EQ(l.starts, 2);
}

/* -- what they are told */

TEST(record_inputs_are_there_in_start_when_somebody_needs_them)
{
    int64_t dims[] = {2, 3};
    kino_record_value inputs[] = {kino_value_tensor("float", dims, NULL, 2), kino_value_int(4)};
    listener l = {0};
    kino_record_callback callback = callback_of(&l);
    uint64_t handle;
    kino_record_function fn;
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.inputs = inputs;
    details.input_count = 2;

    REQUIRE_EQ(kino_record_add_global(&callback, &handle, NULL), KINO_OK);
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    CHECK_EQ(fn.needs, 0);
    kino_record_start(&fn, &details);
    CHECK(l.inputs == NULL);
    CHECK_EQ(l.input_count, 0);
    kino_record_end(&fn);
    REQUIRE_EQ(kino_record_remove(handle, NULL), KINO_OK);

    callback.needs = KINO_RECORD_INPUTS;
    REQUIRE_EQ(kino_record_add_global(&callback, &handle, NULL), KINO_OK);
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    CHECK_EQ(fn.needs, KINO_RECORD_INPUTS);
    kino_record_start(&fn, &details);
    CHECK(l.inputs == inputs);
    CHECK_EQ(l.input_count, 2);
    CHECK(fn.inputs == NULL); /* valid only inside start */
    CHECK_EQ(fn.input_count, 0);
    kino_record_end(&fn);
}

TEST(record_outputs_are_there_in_end_when_somebody_needs_them)
{
    kino_record_value output = kino_value_double(1.5);
    listener l = {0};
    kino_record_callback callback = callback_of(&l);
    for (int needs = 0; needs < 2; needs++) {
        uint64_t handle;
        kino_record_function fn;
        callback.needs = needs ? KINO_RECORD_OUTPUTS : 0;
        REQUIRE_EQ(kino_record_add_global(&callback, &handle, NULL), KINO_OK);
        REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
        kino_record_start_named(&fn, "op");
        kino_record_set_outputs(&fn, &output, 1);
        kino_record_end(&fn);
        CHECK(l.outputs == (needs ? &output : NULL));
        CHECK_EQ(l.output_count, (uint32_t)needs);
        REQUIRE_EQ(kino_record_remove(handle, NULL), KINO_OK);
    }
}

TEST(record_ids_are_drawn_only_when_somebody_needs_them)
{
    listener plain = {0}, asks = {0};
    add(&plain, true);
    run(KINO_SCOPE_FUNCTION);
    run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(plain.last.id, 0);
    kino_record_callback callback = callback_of(&asks);
    callback.needs = KINO_RECORD_IDS;
    callback.scopes = 1u << KINO_SCOPE_USER;
    REQUIRE_EQ(kino_record_add_global(&callback, NULL, NULL), KINO_OK);
    run(KINO_SCOPE_USER);
    CHECK_EQ(asks.last.id, 1); /* none was drawn before */
    CHECK_EQ(plain.last.id, 1);
    run(KINO_SCOPE_FUNCTION); /* the one that asks does not take part */
    CHECK_EQ(plain.last.id, 0);
    run(KINO_SCOPE_USER);
    CHECK_EQ(asks.last.id, 2);
}

/* -- adding and removing */

TEST(record_handles_are_unique_and_never_used_again)
{
    enum { COUNT = 20 };
    listener l = {0};
    uint64_t seen[2 * COUNT];
    for (int i = 0; i < 2 * COUNT; i++) {
        seen[i] = add(&l, i % 2);
        for (int before = 0; before < i; before++)
            CHECK(seen[before] != seen[i]);
        if (i % 3 == 0)
            CHECK_EQ(kino_record_remove(seen[i], NULL), KINO_OK);
    }
}

TEST(record_callback_that_is_removed_while_a_function_runs_gets_its_end)
{
    listener l = {0};
    uint64_t handle = add(&l, true);
    kino_record_function fn, later;
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    kino_record_start_named(&fn, "op");
    REQUIRE_EQ(kino_record_remove(handle, NULL), KINO_OK);
    CHECK(!kino_record_open(&later, KINO_SCOPE_FUNCTION));
    CHECK_EQ(l.ends, 0);
    kino_record_end(&fn);
    CHECK_EQ(l.starts, 1);
    CHECK_EQ(l.ends, 1);
}

TEST(record_callback_that_is_added_while_a_function_runs_gets_no_end)
{
    listener first = {0}, second = {0};
    add(&first, true);
    kino_record_function fn;
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    kino_record_start_named(&fn, "op");
    add(&second, true);
    run(KINO_SCOPE_FUNCTION);
    kino_record_end(&fn);
    CHECK_EQ(first.ends, 2);
    CHECK_EQ(second.starts, 1);
    CHECK_EQ(second.ends, 1);
}

TEST(record_callback_can_remove_itself_and_others)
{
    journal j = {0};
    listener a = {.journal = &j, .letter = 'a'}, b = {.journal = &j, .letter = 'b'};
    a.to_remove = add(&a, true);
    add(&b, true);
    kino_record_function fn;
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    kino_record_start_named(&fn, "op");
    a.to_remove = 0;
    kino_record_end(&fn);
    run(KINO_SCOPE_FUNCTION);
    CHECK_STR(j.text, "a(b(a)b)b(b)");
}

TEST(record_callback_is_released_when_nothing_uses_it_any_more)
{
    listener l = {0};
    kino_record_callback callback = callback_of(&l);
    callback.release = on_release;
    uint64_t handle;
    REQUIRE_EQ(kino_record_add_global(&callback, &handle, NULL), KINO_OK);
    kino_record_function one, two, unstarted;
    REQUIRE(kino_record_open(&one, KINO_SCOPE_FUNCTION));
    kino_record_start_named(&one, "op");
    REQUIRE(kino_record_open(&two, KINO_SCOPE_FUNCTION));
    kino_record_start_named(&two, "op");
    REQUIRE(kino_record_open(&unstarted, KINO_SCOPE_FUNCTION));
    kino_record_end(&one);
    REQUIRE_EQ(kino_record_remove(handle, NULL), KINO_OK);
    CHECK_EQ(l.released, 0);
    kino_record_end(&two);
    CHECK_EQ(l.released, 0);
    kino_record_end(&unstarted);
    CHECK_EQ(l.released, 1);
    CHECK_EQ(l.ends, 2);

    REQUIRE_EQ(kino_record_add_local(&callback, &handle, NULL), KINO_OK);
    kino_record_state *state = kino_record_state_capture();
    REQUIRE_EQ(kino_record_remove(handle, NULL), KINO_OK);
    CHECK_EQ(l.released, 1);
    kino_record_state_free(state);
    CHECK_EQ(l.released, 2);
}

TEST(record_callbacks_can_be_switched_off_and_on)
{
    journal j = {0};
    listener a = {.journal = &j, .letter = 'a'}, b = {.journal = &j, .letter = 'b'};
    uint64_t first = add(&a, true);
    uint64_t second = add(&b, false);
    REQUIRE_EQ(kino_record_set_enabled(first, false, NULL), KINO_OK);
    run(KINO_SCOPE_FUNCTION);
    REQUIRE_EQ(kino_record_set_enabled(first, true, NULL), KINO_OK);
    REQUIRE_EQ(kino_record_set_enabled(second, false, NULL), KINO_OK);
    run(KINO_SCOPE_FUNCTION);
    REQUIRE_EQ(kino_record_set_enabled(second, true, NULL), KINO_OK);
    run(KINO_SCOPE_FUNCTION);
    CHECK_STR(j.text, "b(b)a(a)a(b(a)b)");
}

TEST(record_callbacks_can_be_cleared)
{
    listener a = {0}, b = {0};
    add(&a, true);
    add(&b, false);
    CHECK_EQ(kino_record_count_global(), 1);
    CHECK_EQ(kino_record_count_local(), 1);
    kino_record_clear_global();
    run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(a.starts, 0);
    CHECK_EQ(b.starts, 1);
    kino_record_clear_local();
    run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(b.starts, 1);
    CHECK_EQ(kino_record_count_global() + kino_record_count_local(), 0);
}

TEST(record_callbacks_with_bad_values_are_refused)
{
    listener l = {0};
    kino_record_callback callback = callback_of(&l);
    kino_error err;
    uint64_t handle = 1;
    callback.probability = 1.5;
    CHECK_EQ(kino_record_add_global(&callback, &handle, &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "invalid sampling probability 1.5 (expected: 0 to 1)");
    CHECK_EQ(handle, 0);
    callback.probability = (double)NAN;
    CHECK_EQ(kino_record_add_local(&callback, NULL, NULL), KINO_ARGUMENT);
    callback.probability = -0.1;
    CHECK_EQ(kino_record_add_local(&callback, NULL, NULL), KINO_ARGUMENT);
    callback.probability = 1;
    callback.scopes = 1u << KINO_SCOPE_COUNT;
    CHECK_EQ(kino_record_add_global(&callback, NULL, &err), KINO_ARGUMENT);
    callback.scopes = 0;
    callback.size = 8;
    CHECK_EQ(kino_record_add_global(&callback, NULL, &err), KINO_ARGUMENT);
    CHECK_EQ(kino_record_remove(77, &err), KINO_NOT_FOUND);
    CHECK_STR(err.message, "no callback 77 in this process or thread");
    CHECK_EQ(kino_record_set_enabled(0, true, NULL), KINO_NOT_FOUND);
}

/* -- guards */

TEST(record_guards_switch_a_thread_off_and_back)
{
    listener l = {0};
    add(&l, true);
    add(&l, false);
    CHECK(kino_record_is_enabled());
    bool outer = kino_record_enable(false);
    CHECK(outer);
    run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(l.starts, 0);
    CHECK_EQ(kino_impl_v1_record_self.scopes, 0); /* as cheap as nobody */
    bool inner = kino_record_enable(true);
    CHECK(!inner);
    run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(l.starts, 2);
    kino_record_enable(inner);
    add(&l, true); /* does not switch it on */
    run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(l.starts, 2);
    kino_record_enable(outer);
    run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(l.starts, 5);
}

TEST(record_function_that_runs_when_the_guard_comes_gets_its_end)
{
    listener l = {0};
    add(&l, true);
    kino_record_function fn;
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    kino_record_start_named(&fn, "op");
    kino_record_enable(false);
    kino_record_end(&fn);
    CHECK_EQ(l.ends, 1);
}

/* -- numbers */

TEST(sequence_numbers_count_up)
{
    CHECK_EQ(kino_sequence_peek(), 0);
    CHECK_EQ(kino_sequence_next(), 0);
    CHECK_EQ(kino_sequence_next(), 1);
    CHECK_EQ(kino_sequence_peek(), 2);
    CHECK_EQ(kino_record_thread(), 1);
}
