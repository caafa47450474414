/* missing_information.c - what the trace leaves out, and how to record it.
 *
 * Steps, input shapes, Python stacks, memory and modules: rules and views need them. Shapes and
 * call stacks are looked for among the first operators. Traces without operators say nothing of
 * this kind. Information, no gain. */
#include "rule/rule.h"
#include "store/args.h"
#include "store/op_inputs.h"

enum { OPERATORS_SEEN = 500 };

typedef struct recorded {
    bool has_operators, has_shapes, has_stacks;
} recorded;

static recorded find_recorded(const kino__rule_look *l)
{
    recorded r = {.has_stacks = l->scan->has_python};
    int seen = 0;
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, l->trace->text);
    for (uint32_t row = 0; row < l->trace->event_count && seen < OPERATORS_SEEN; row++) {
        if (l->profile->type[row] != KINO__EVENT_TYPE_OPERATOR)
            continue;
        seen++;
        r.has_operators = true;
        if (r.has_shapes && r.has_stacks)
            break;
        kino_str args = kino__args_text(l->trace, row, &cursor);
        r.has_shapes |= kino__op_inputs_dims(args).size > 0;
        r.has_stacks |= kino__args_find(args, KINO__STR("Call stack")).size > 0;
    }
    kino__text_cursor_deinit(&cursor);
    return r;
}

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    recorded r = find_recorded(l);
    if (!r.has_operators || !kino__program_is_torch(l->program))
        return; /* nothing that torch.profiler could add */
    const struct {
        bool is_there;
        const char *what, *option;
    } parts[] = {
        {p->has_step_events, "steps", "call prof.step() after each step"},
        {r.has_shapes, "input shapes", "record_shapes=True"},
        {r.has_stacks, "Python stacks", "with_stack=True"},
        {p->has_memory, "memory", "profile_memory=True"},
        /* modules are Python functions: both come with with_stack */
        {p->has_modules || !r.has_stacks || !l->scan->has_python, "modules", "with_modules=True"},
    };
    kino__buffer what = {0}, options = {0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].is_there)
            continue;
        kino__buffer_printf(&what, "%s%s", what.size ? ", " : "", parts[i].what);
        kino__buffer_printf(&options, "%s%s", options.size ? ", " : "", parts[i].option);
    }
    if (what.size) {
        kino_str missing = kino__buffer_str(&what), how = kino__buffer_str(&options);
        kino__finding *f = kino__finding_add(l->out, KINO__SEVERITY_INFO, KINO_NO_INT);
        kino__finding_say(l->out, f, KINO__SAY_TITLE,
                          "the trace lacks information that some rules need");
        kino__finding_say(l->out, f, KINO__SAY_SEEN, "not recorded: %.*s", KINO__STR_ARG(missing));
        kino__finding_say(l->out, f, KINO__SAY_WHY,
                          "without it, some rules cannot run, and source lines are unknown");
        kino__finding_say(l->out, f, KINO__SAY_DO,
                          "record a few more steps with torch.profiler.profile: %.*s",
                          KINO__STR_ARG(how));
    }
    kino__buffer_deinit(&what);
    kino__buffer_deinit(&options);
}

const kino__rule_def kino__rule_missing_information = {
    .name = "missing-information",
    .help = "steps, shapes, stacks, memory or modules were not recorded",
    .look = look,
};
