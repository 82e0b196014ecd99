#include "interpose/mpi/handles.h"

static const struct {
    uint16_t f2c, fromint;
} converters[IPO_KINDS] = {
    [IPO_KIND_COMM] = {IPO_Comm_f2c, IPO_Comm_fromint},
    [IPO_KIND_TYPE] = {IPO_Type_f2c, IPO_Type_fromint},
    [IPO_KIND_REQUEST] = {IPO_Request_f2c, IPO_Request_fromint},
    [IPO_KIND_WIN] = {IPO_Win_f2c, IPO_Win_fromint},
    [IPO_KIND_FILE] = {IPO_File_f2c, IPO_File_fromint},
    [IPO_KIND_MESSAGE] = {IPO_Message_f2c, IPO_Message_fromint},
    [IPO_KIND_OP] = {IPO_Op_f2c, IPO_Op_fromint},
    [IPO_KIND_GROUP] = {IPO_Group_f2c, IPO_Group_fromint},
};

uintptr_t ipo_handle_of(enum ipo_kind kind, int integer)
{
    if (ipo_is_integer(kind))
        return (uint32_t)integer;
    ipo_function convert = ipo_own[converters[kind].f2c];
    if (!convert)
        convert = ipo_own[converters[kind].fromint];
    return convert ? ((uintptr_t(*)(int))convert)(integer) : (uintptr_t)(uint32_t)integer;
}
