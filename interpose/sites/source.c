/* Call sites and Python, as a source of the recorder. */
#include "interpose/core/facts.h"
#include "interpose/core/source.h"
#include "interpose/sites/python.h"
#include "interpose/sites/recipe.h"
#include "interpose/sites/sites.h"

static void resolve_sites(bool last)
{
    (void)last;
    ipo_sites_resolve();
}

static void add_python_fact(void)
{
    static bool added;
    if (!added && ipo_python_version()[0])
        ipo_fact("python", ipo_python_version());
    added = true;
}

static void doubt_addresses(void)
{
    ipo_recipes_drop();
    ipo_sites_doubt();
}

static const struct ipo_source sites_source = {.name = "sites",
                                               .live = ipo_python_find,
                                               .serve = ipo_recipes_refresh,
                                               .unloaded = doubt_addresses,
                                               .round = resolve_sites,
                                               .add_facts = add_python_fact,
                                               .stop = ipo_sites_resolve};
IPO_SOURCE(sites_source);
