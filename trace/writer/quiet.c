#include "trace/writer/quiet.h"

atomic_int trc_quiet;
__thread bool trc_is_own;
