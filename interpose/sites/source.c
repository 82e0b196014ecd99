/* Call sites and Python, as a source of the recorder. */
#include "interpose/core/facts.h"
#include "interpose/core/source.h"
#include "interpose/sites/python.h"
#include "interpose/sites/sites.h"

static void round_of(bool over)
{
    if (!over)
        ipo_sites_resolve();
}

static void tell(void)
{
    static bool told;
    if (!told && ipo_python_version()[0])
        ipo_fact("python", ipo_python_version());
    told = true;
}

static const struct ipo_source sites_source = {.name = "sites",
                                               .live = ipo_python_find,
                                               .second = ipo_sites_open,
                                               .round = round_of,
                                               .tell = tell,
                                               .stop = ipo_sites_resolve};
IPO_SOURCE(sites_source);
