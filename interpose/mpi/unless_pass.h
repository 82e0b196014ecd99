/* For the files that expand a call table: rows whose class is PASS have no wrapper. */
#pragma once

/* UNLESS_PASS(opclass)(tokens): the tokens, or nothing where the class is PASS.  IF_PASS: the other way round. */
#define UNLESS_PASS(opclass) PASTE(UNLESS_, SECOND(PROBE_##opclass, 0, ~))
#define IF_PASS(opclass)     PASTE(IF_, SECOND(PROBE_##opclass, 0, ~))
#define PROBE_PASS           ~, 1
#define SECOND(...)          SECOND_(__VA_ARGS__)
#define SECOND_(a, b, ...)   b
#define PASTE(a, b)          PASTE_(a, b)
#define PASTE_(a, b)         a##b
#define UNLESS_0(...)        __VA_ARGS__
#define UNLESS_1(...)
#define IF_0(...)
#define IF_1(...) __VA_ARGS__
