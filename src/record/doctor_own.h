/* doctor_own.h - Kino's own parts, as far as other checks need them. */
#ifndef KINO__RECORD_DOCTOR_OWN_H
#define KINO__RECORD_DOCTOR_OWN_H

#include "record/doctor.h"

/* libkino_inject.so as kino record finds it; NULL: it does not, and why. `why` may be NULL. */
const char *kino__doctor_inject_library(kino__doctor *doctor, const char **why);

#endif
