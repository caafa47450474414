/* functions.h - functions of a framework, as programs of the tests record them. */
#ifndef STANDIN_COMMON_FUNCTIONS_H
#define STANDIN_COMMON_FUNCTIONS_H

#include <stdint.h>

#include <kino/record_function.h>

/* To be ended with kino_record_end. */
static inline void begin_function(kino_record_function *function, kino_record_scope scope,
                                  const char *name)
{
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.name = name;
    if (kino_record_open(function, scope))
        kino_record_start(function, &details);
}

/* The operator of a collective, with what it says of it. */
static inline void begin_collective(kino_record_function *function, const kino_record_value *inputs,
                                    uint32_t count)
{
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    kino_record_spans_options options = KINO_RECORD_SPANS_INIT;
    options.with_inputs = true;
    kino_record_spans_set(&options, NULL);
    details.name = "record_param_comms";
    details.inputs = inputs;
    details.input_count = count;
    if (kino_record_open(function, KINO_SCOPE_FUNCTION))
        kino_record_start(function, &details);
}

static inline kino_record_value with_key(const char *key, kino_record_value value)
{
    value.key = key;
    return value;
}

#endif
