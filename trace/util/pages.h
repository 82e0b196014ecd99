/* Memory that is there only once it is written to: for arrays that stay mostly untouched. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* `size` bytes of zeros; 0 counts as 1; `large`: in pages of 2 MB where written to.  NULL: there is no room for them.
 * Give back with ana_pages_drop. */
void *ana_pages_make(size_t size, bool large);
/* Frees pages made with the same size; NULL is none. */
void ana_pages_drop(void *pages, size_t size);
/* Asks for pages of 2 MB in the heap, as far as it has grown since the last call.  One thread at a time. */
void ana_pages_of_heap(void);
