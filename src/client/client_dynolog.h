/* client_dynolog.h - requests to an unmodified Dynolog daemon; called through client_request.h. */
#ifndef KINO__CLIENT_DYNOLOG_H
#define KINO__CLIENT_DYNOLOG_H

#include "client/client_request.h"

KINO_NODISCARD kino_status kino__dynolog_send(const kino__client *client,
                                              const kino__on_demand_options *options,
                                              kino__on_demand *out, kino_error *err);
KINO_NODISCARD kino_status kino__dynolog_look(const kino__client *client, kino__on_demand *trigger,
                                              kino_error *err);

#endif
