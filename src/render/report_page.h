/* report_page.h - the fixed parts of the page that report_html.c makes: style and script, as text.
 * Nothing in them comes from anywhere else, so that the page works without a network. */
#ifndef KINO__RENDER_REPORT_PAGE_H
#define KINO__RENDER_REPORT_PAGE_H

extern const char kino__page_style[];
extern const char kino__page_script[];

#endif
