/* itt.h - between itt.c, itt_open.c (what is ended by its id, times, events), itt_counter.c
 * and itt_control.c (pause and resume). */
#ifndef KINO__INJECT_ITT_H
#define KINO__INJECT_ITT_H

#include "base/str.h"
#include "inject/inject.h"
#include "inject/itt_abi.h"

/* -- itt.c */

/* A span or mark with its domain as argument; 0 when nothing is recorded. */
uint64_t kino__itt_record(const kino__itt_domain *domain, kino__itt_string *name, bool is_mark);
uint64_t kino__itt_record_text(const kino__itt_domain *domain, const char *name);
/* Of its ranges (kino__inject_push); NULL is 0. */
uint32_t kino__itt_number(const kino__itt_domain *domain);

/* -- itt_open.c */

/* The span that is open under an id, or 0. */
uint64_t kino__itt_find_open(const kino__itt_domain *domain, const kino__itt_id *id);
void kino__itt_open(const kino__itt_domain *domain, kino__itt_id id, kino__itt_id parent,
                    kino__itt_string *name);
void kino__itt_close(const kino__itt_domain *domain, kino__itt_id id);
void kino__itt_frame_begin(const kino__itt_domain *domain, const kino__itt_id *id);
void kino__itt_frame_end(const kino__itt_domain *domain, const kino__itt_id *id);
void kino__itt_frame_submit(const kino__itt_domain *domain, const kino__itt_id *id,
                            unsigned long long begin, unsigned long long end);
unsigned long long kino__itt_timestamp(void);
int kino__itt_event_create(const char *name, int size);
int kino__itt_event_start(int event);
int kino__itt_event_end(int event);

/* -- itt_control.c */

void kino__itt_pause(void);
void kino__itt_resume(void);

/* -- itt_counter.c */

/* A number of one of ITT's types. */
typedef struct kino__itt_value {
    int type;
    union {
        uint64_t u; /* U64 */
        int64_t i;  /* all other integers */
        double f;
    } number;
} kino__itt_value;

/* The n-th of an array. */
kino__itt_value kino__itt_value_at(int type, const void *data, size_t index);

typedef struct kino__itt_counter kino__itt_counter;
kino__itt_counter *kino__itt_counter_create(const char *name, const char *domain);
kino__itt_counter *kino__itt_counter_create_typed(const char *name, const char *domain, int type);
kino__itt_counter *kino__itt_counter_create_v3(const kino__itt_domain *domain, const char *name,
                                               int type);
void kino__itt_counter_inc(kino__itt_counter *counter);
void kino__itt_counter_inc_delta(kino__itt_counter *counter, unsigned long long delta);
void kino__itt_counter_dec(kino__itt_counter *counter);
void kino__itt_counter_dec_delta(kino__itt_counter *counter, unsigned long long delta);
void kino__itt_counter_set(kino__itt_counter *counter, const void *value);

#endif
