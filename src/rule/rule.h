/* rule.h - advice: what was seen in a run, why it matters, what to do, and what it would bring.
 *
 * A new rule: src/rule/<name>.c with a kino__rule_def, RULE(<name>) in rules.def, its line in
 * docs/analyses/recommendations.md, a test just below and just above each of its thresholds. A rule
 * looks at one trace (its profile and the scan of it that all rules share), or compares the ranks
 * of a run, and adds findings. `kino analyze recommendations` runs them all; the report shows the
 * ones that matter most.
 *
 *   static void look(const kino__rule_look *l)
 *   {
 *       int64_t waiting = l->facts->role[KINO__ROLE_LOADER];
 *       if (!kino__is_above(waiting, l->facts->step_time, l->thresholds[0]))
 *           return;
 *       kino__finding *f = kino__finding_add(l->out, KINO__SEVERITY_HIGH, waiting);
 *       kino__finding_say(l->out, f, KINO__SAY_TITLE, "the steps wait for the data loader");
 *       ...
 *       kino__finding_cite(f, kino__trace_event_id(trace, row));
 *   }
 *
 * Gains are ns saved over the kept steps, of facts->step_time; percentages are made at the end.
 * Never promise more than the trace supports: gain KINO_NO_INT means "not known". */
#ifndef KINO__RULE_RULE_H
#define KINO__RULE_RULE_H

#include "analysis/analysis.h"
#include "analysis/say.h"
#include "analysis/verdict/verdict.h"
#include "model/profile/profile.h"
#include "rule/program_kind.h"
#include "rule/scan.h"

typedef enum kino__severity {
    KINO__SEVERITY_HIGH,
    KINO__SEVERITY_MEDIUM,
    KINO__SEVERITY_LOW,
    KINO__SEVERITY_INFO, /* about the trace, not about the program */
} kino__severity;

typedef enum kino__say {
    KINO__SAY_TITLE, /* short, lower case, no full stop; the same on every rank */
    KINO__SAY_SEEN,  /* with numbers */
    KINO__SAY_WHY,
    KINO__SAY_DO, /* what to change, as concrete as possible */
    KINO__SAY_COUNT,
} kino__say;

enum { KINO__EVIDENCE_MAX = 8 };

typedef struct kino__finding {
    uint32_t rule; /* place in rules.def */
    uint32_t severity;
    int64_t rank;            /* of the trace; KINO_NO_INT: unknown, or all of them */
    int64_t trace;           /* its place in the run */
    int64_t gain, step_time; /* ns over the kept steps; gain may be KINO_NO_INT */
    kino_str say[KINO__SAY_COUNT];
    int64_t evidence[KINO__EVIDENCE_MAX]; /* event ids */
    uint32_t evidence_count;
    uint32_t is_rest; /* of the time it is about, findings nearer to the cause explain a part */
} kino__finding;

/* Time that a finding is about; see kino__finding_claim. */
typedef struct kino__claim {
    size_t finding; /* its place among the items */
    kino__interval time;
} kino__claim;

/* Which ranks keep the others waiting, as the rule straggler found it. */
enum { KINO__SLOW_MAX = 64 };
typedef struct kino__slow_ranks {
    size_t count;                  /* 0: none does */
    int64_t trace[KINO__SLOW_MAX]; /* the first ones */
    kino__role cause;
    int64_t own;  /* the slowest one's own time of a step */
    char who[64]; /* "rank 2", "ranks 1 and 5" */
} kino__slow_ranks;

typedef struct kino__findings {
    KINO__VEC(kino__finding) items;
    KINO__VEC(kino__claim) claims; /* of one trace; empty once they are settled */
    kino__arena arena;             /* of the texts */
    uint32_t rule;                 /* whose findings come now */
    int64_t rank, trace, step_time;
    bool has_no_steps;     /* none are marked: the recorded time is taken as one */
    kino__slow_ranks slow; /* of the run */
    bool failed;
} kino__findings;

/* What rules of all ranks need of one: integers only, so that it can be merged. */
typedef struct kino__rank_facts {
    int64_t rank, trace; /* KINO_NO_INT: unknown; index in the run */
    int64_t step_count;
    int64_t step_time;              /* sum over the kept steps */
    int64_t role[KINO__ROLE_COUNT]; /* the same of its parts */
    int64_t computation, communication, overlap;
    int64_t first_step_row; /* id of the first step's event, or KINO_NO_INT */
    int64_t kernel_count;
    int64_t world_size;
} kino__rank_facts;

typedef struct kino__threshold {
    const char *name; /* "share" */
    double value;     /* the default */
    const char *help; /* one line */
} kino__threshold;

typedef struct kino__rule_def kino__rule_def;

typedef struct kino__rule_look {
    const kino__profile *profile;
    const kino__trace *trace;
    const kino__program_kind *program; /* which advice fits */
    const kino__rank_facts *facts;
    const kino__scan *scan;   /* what several rules need; NULL when is_compat */
    const double *thresholds; /* in the order of the definition */
    kino__pool *pool;         /* or NULL */
    bool is_compat;           /* as the TensorBoard plugin decides it */
    kino__findings *out;
} kino__rule_look;

typedef struct kino__rule_compare {
    const kino__rank_facts *ranks; /* in rank order */
    size_t rank_count;
    const kino__verdict_facts *verdict; /* on stragglers: for kino__verdict_judge */
    const double *thresholds;
    kino__findings *out;
} kino__rule_compare;

/* How near to its cause a rule speaks of lost time: of findings of one rank that are about the same
 * time, the nearest keeps it and the others yield. */
typedef enum kino__nearness {
    KINO__NEAR_CAUSE,   /* names it: the loader, a call, a line */
    KINO__NEAR_KIND,    /* names a kind of work: small kernels, long gaps, communication */
    KINO__NEAR_SYMPTOM, /* time is lost, for one of the reasons above */
    KINO__NEAR_ONCE, /* single steps: settled first, as advice for every step is not about them */
    KINO__NEAR_COUNT,
} kino__nearness;

struct kino__rule_def {
    const char *name;                  /* "data-loading" */
    const char *help;                  /* one line, lower case, no full stop: when it speaks */
    const char *gain;                  /* one line: how the estimate is made; NULL: there is none */
    const kino__threshold *thresholds; /* ends with {0}; NULL: none */
    /* A rule that says the same in more general words: this one is silent on ranks where that one
     * speaks. NULL: none. */
    const kino__rule_def *yields_to;
    kino__nearness nearness;
    bool is_plugins;       /* one of the TensorBoard plugin's seven */
    bool is_about_kernels; /* the device is at work; other kernels would take it less time */
    void (*look)(const kino__rule_look *look);          /* or NULL */
    void (*compare)(const kino__rule_compare *compare); /* or NULL; two ranks or more */
};

#define RULE(name) extern const kino__rule_def kino__rule_##name;
#include "rule/rules.def"
#undef RULE

/* The n-th rule, NULL at the end. */
const kino__rule_def *kino__rule_at(size_t index);

/* A finding to be filled; never NULL (when memory is out, it goes nowhere and the list fails). */
kino__finding *kino__finding_add(kino__findings *findings, kino__severity severity, int64_t gain);
void kino__finding_say(kino__findings *findings, kino__finding *finding, kino__say what,
                       const char *format, ...) KINO_PRINTF(4, 5);
void kino__finding_cite(kino__finding *finding, int64_t event_id);
/* The finding is about this part of the steps' time: idle time, kernels, copies, communication that
 * nothing hides. A finding gains no more than it claims; what another finding of the rank, nearer
 * to the cause, claims too is not gained twice (settle.h). */
void kino__finding_claim(kino__findings *findings, const kino__finding *finding,
                         kino__interval time);
void kino__finding_claim_list(kino__findings *findings, const kino__finding *finding,
                              const kino__intervals *list);
/* The parts of a cover that lie in [start, end). */
void kino__finding_claim_cover(kino__findings *findings, const kino__finding *finding,
                               const kino__cover *cover, int64_t start, int64_t end);
/* The part of a device's event that lies in kept steps. */
void kino__scan_claim_row(const kino__rule_look *look, const kino__finding *finding, uint32_t row);
/* The same of all that was launched in a node and below it. */
void kino__scan_claim_work(const kino__rule_look *look, const kino__finding *finding,
                           uint32_t node);
const char *kino__severity_name(uint32_t severity);
/* HIGH from a fifth of the step time on, MEDIUM from a twentieth, else LOW. */
kino__severity kino__severity_of(int64_t gain, int64_t step_time);

/* How many bytes of a text fit into `size` without cutting a character in two. */
size_t kino__cut(kino_str text, size_t size);
/* The name of an event, cut where it is long; in turn from a few buffers as well. */
const char *kino__say_name(const kino__trace *trace, uint32_t row);

/* Is the part more than this share of the whole? Never of nothing. */
static inline bool kino__is_above(int64_t part, int64_t of, double share)
{
    return of > 0 && (double)part / (double)of > share;
}

/* The analysis "recommendations": all rules over a run. Its columns, by place. */
enum {
    KINO__ADVICE_RULE,
    KINO__ADVICE_SEVERITY,
    KINO__ADVICE_TITLE,
    KINO__ADVICE_SEEN,
    KINO__ADVICE_WHY,
    KINO__ADVICE_DO,
    KINO__ADVICE_GAIN,
    KINO__ADVICE_RANKS,
    KINO__ADVICE_EVIDENCE,
    KINO__ADVICE_RANK
};
extern const kino__analysis_def kino__analysis_recommendations;

#endif
