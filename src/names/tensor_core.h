/* tensor_core.h - names by which matrix units are recognised: tensor_cores.def. With is_compat the
 * TensorBoard plugin's alone. */
#ifndef KINO__NAMES_TENSOR_CORE_H
#define KINO__NAMES_TENSOR_CORE_H

#include <kino/base.h>

/* Does a kernel of this name run on them? */
bool kino__name_uses_tensor_cores(kino_str name, bool is_compat);
/* Could an operator of this name? */
bool kino__name_could_use_tensor_cores(kino_str name, bool is_compat);

#endif
