/* doctor_own.h - Kino's own parts, as far as other checks need them. */
#ifndef KINO__RECORD_DOCTOR_OWN_H
#define KINO__RECORD_DOCTOR_OWN_H

#include "record/doctor.h"

/* The path of a library of ours: beside the program (a build), in the lib folder beside its bin
 * folder (an installation). NULL: it is in none of them. */
const char *kino__doctor_find_library(kino__doctor *doctor, const char *name);

/* libkino_inject.so as kino record finds it; NULL: it does not, and why. `why` may be NULL. */
const char *kino__doctor_inject_library(kino__doctor *doctor, const char **why);

#endif
