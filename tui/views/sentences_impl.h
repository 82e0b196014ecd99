/* Sentences of this folder; private to it. */
#pragma once

#define SAY(name, text) __attribute__((unused)) static const char SAY_##name[] = text;
#include "tui/views/sentences.def"
