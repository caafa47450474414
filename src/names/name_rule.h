/* name_rule.h - how the tables of names compare (communication.def, kernel_types.def,
 * host_names.def, launches.def). */
#ifndef KINO__NAMES_NAME_RULE_H
#define KINO__NAMES_NAME_RULE_H

#include "base/str.h"

typedef enum kino__name_rule {
    KINO__NAME_START,    /* begins with the text; what stands behind a * comes anywhere later */
    KINO__NAME_ANYWHERE, /* has the text in it */
    KINO__NAME_WHOLE,    /* is the text, or a version of it: "_v2", "_ptsz", "_v7000_ptsz" */
} kino__name_rule;

bool kino__name_fits(kino_str name, kino__name_rule rule, kino_str text);

#endif
