/* cost_ask.c - see the header. */
#include "unit/cost/cost_ask.h"

#include "unit/test.h"

static kino__cost ask(kino__cost_mode mode, kino__op_call *call)
{
    kino__cost_model *model;
    REQUIRE(kino__cost_model_new(mode, NULL, &model, NULL) == KINO_OK);
    kino__cost cost = kino__cost_of(model, call);
    kino__cost_model_free(model);
    kino__op_call_deinit(call);
    return cost;
}

kino__cost test_cost(kino__cost_mode mode, const char *op, const char *dims, const char *types,
                     const char *values)
{
    kino__op_call call = {0};
    char args[4096];
    (void)snprintf(args, sizeof args,
                   "{\"Input Dims\": %s, \"Input type\": %s, \"Concrete Inputs\": %s}",
                   dims ? dims : "null", types ? types : "null", values ? values : "null");
    REQUIRE(kino__op_call_read_kineto(&call, kino__str_from(op), kino__str_from(args)));
    return ask(mode, &call);
}

kino__cost test_cost_of_range(const char *text)
{
    kino__op_call call = {0};
    REQUIRE(kino__op_call_read_range(&call, kino__str_from(text)));
    return ask(KINO__COST_DEFAULT, &call);
}
