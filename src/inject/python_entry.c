/* python_entry.c - the Python package, which kino record's hook has loaded (kino/_recorded.py), has
 * something to record in this process. */
#include "inject/inject.h"

/* Begins the recording of the process if that is still to be done. Is it being recorded, now or in
 * a window to come? */
KINO_API bool kino_record_begin(void);
bool kino_record_begin(void)
{
    kino__inject_begin();
    kino__inject_first_use();
    return __atomic_load_n(&kino__inject_state, __ATOMIC_ACQUIRE) == KINO__INJECT_ON;
}
