/* report_bar.c - bars of parts: how many cells each gets, and how it looks. */
#include "render/report.h"

/* Chosen to be told apart by colour-blind readers, in order of how often they stand side by side;
 * the same roles have the same hue everywhere. */
const kino__role_style kino__role_styles[KINO__REPORT_ROLES] = {
    {"█", 33, "#2f7ed8", "#4c9bf5"},  /* kernel */
    {"▚", 80, "#14a3a8", "#2cc5c9"},  /* memcpy */
    {"▞", 115, "#6fbf73", "#8fd694"}, /* memset */
    {"▓", 170, "#b04ec4", "#cf7be0"}, /* communication */
    {"▒", 214, "#e69500", "#f5b544"}, /* runtime */
    {"░", 203, "#d64545", "#f47174"}, /* data loader */
    {"=", 228, "#c9b400", "#e8d75a"}, /* CPU */
    {"·", 245, "#9aa0a6", "#7d848b"}, /* other */
};

void kino__bar_cells(const int64_t *parts, size_t count, size_t width, size_t *cells)
{
    enum { MOST = 64, NEVER = -1000 };
    double remainder[MOST] = {0};
    double total = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        cells[i] = 0;
        total += parts[i] > 0 ? (double)parts[i] : 0;
    }
    if (total <= 0 || count > MOST)
        return;
    for (size_t i = 0; i < count; i++) {
        double exact = parts[i] > 0 ? (double)parts[i] / total * (double)width : 0;
        cells[i] = (size_t)exact;
        cells[i] = cells[i] > width - used ? width - used : cells[i];
        used += cells[i];
        remainder[i] = parts[i] > 0 ? exact - (double)cells[i] : NEVER;
    }
    while (used < width) { /* at most `count` are left; of equals the first one */
        size_t best = 0;
        for (size_t i = 1; i < count; i++)
            best = remainder[i] > remainder[best] ? i : best;
        cells[best]++;
        remainder[best] -= 1;
        used++;
    }
}
