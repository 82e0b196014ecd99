/* The search trees of elfutils' libeu. libdw.a needs them since elfutils 0.192, and Debian has no libeu.a. A tree is
 * a struct whose first member is the root for tsearch(3); its lock, if it has one, is used by these functions only. */
#include <search.h>

typedef int compare_keys(const void *a, const void *b);

void eu_search_tree_init(void **tree);
void eu_search_tree_fini(void **tree, void (*free_node)(void *));
void *eu_tsearch(const void *key, void **tree, compare_keys *compare);
void *eu_tfind(const void *key, void **tree, compare_keys *compare);
void *eu_tdelete(const void *key, void **tree, compare_keys *compare);
void eu_tdestroy(void **tree, void (*free_node)(void *));

void eu_search_tree_init(void **tree)
{
    *tree = 0;
}
void *eu_tsearch(const void *key, void **tree, compare_keys *compare)
{
    return tsearch(key, tree, compare);
}
void *eu_tfind(const void *key, void **tree, compare_keys *compare)
{
    return tfind(key, tree, compare);
}
void *eu_tdelete(const void *key, void **tree, compare_keys *compare)
{
    return tdelete(key, tree, compare);
}
void eu_tdestroy(void **tree, void (*free_node)(void *))
{
    tdestroy(*tree, free_node);
    *tree = 0;
}
void eu_search_tree_fini(void **tree, void (*free_node)(void *))
{
    eu_tdestroy(tree, free_node);
}
