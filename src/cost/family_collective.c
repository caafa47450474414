/* family_collective.c - communication between processes: what a rank gives and gets.
 *
 * Bytes of the message as it is handed over, not of what travels through the network, which depends
 * on the algorithm (the analysis `collectives` has both). The additions of a reduction are not
 * counted. */
#include "cost/family.h"

/* The message where the profiler recorded it, else the tensors that were handed over. */
static void message(const kino__cost_ask *ask, kino__cost *cost)
{
    const kino__op_message *m = &ask->call->message;
    if (m->elements_in != KINO_NO_INT && m->elements_out != KINO_NO_INT) {
        kino__cost_set(cost, 0, kino__cost_bytes_of(m->elements_in, m->dtype),
                       kino__cost_bytes_of(m->elements_out, m->dtype), m->dtype);
        return;
    }
    kino__cost_tensor first;
    if (!kino__cost_first_tensor(ask, cost, &first))
        return;
    int64_t bytes = kino__cost_input_bytes(ask);
    kino__cost_set(cost, 0, bytes, bytes, first.dtype);
}

#define COLLECTIVE(word)                                                                           \
    {                                                                                              \
        .name = (word), .role = KINO__COST_COMPOSITE, .compute = message                           \
    }

static const kino__cost_op ops[] = {
    {.name = "record_param_comms", .role = KINO__COST_PRIMITIVE, .compute = message},
    COLLECTIVE("allreduce"),
    COLLECTIVE("allreduce_coalesced"),
    COLLECTIVE("all_reduce"),
    COLLECTIVE("all_gather"),
    COLLECTIVE("_all_gather_base"),
    COLLECTIVE("all_to_all"),
    COLLECTIVE("barrier"),
    COLLECTIVE("coalesced"),
    COLLECTIVE("allgather"),
    COLLECTIVE("_allgather_base"),
    COLLECTIVE("allgather_into_tensor_coalesced"),
    COLLECTIVE("all_gather_into_tensor"),
    COLLECTIVE("reduce_scatter"),
    COLLECTIVE("_reduce_scatter_base"),
    COLLECTIVE("reduce_scatter_tensor"),
    COLLECTIVE("alltoall"),
    COLLECTIVE("alltoall_base"),
    COLLECTIVE("all_to_all_single"),
    COLLECTIVE("broadcast"),
    COLLECTIVE("reduce"),
    COLLECTIVE("send"),
    COLLECTIVE("recv"),
    {.name = NULL},
};

const kino__cost_family kino__cost_family_collective = {"collective", ops};
