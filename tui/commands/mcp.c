/* hpctop mcp: answers of `hpctop show` for programs that ask by the Model Context Protocol: JSON-RPC 2.0, one message
 * a line, on stdin and stdout.  Each question is a process of its own, so one that fails does not end the others. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/launch/record.h"
#include "trace/format/version.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE = 65536,             /* bytes of a message, at most */
    ANSWER = 65536,           /* bytes of an answer, at most */
    PATIENCE_MS = 10 * 60000, /* for an answer */
    NOT_JSON = -32700,        /* error codes of JSON-RPC */
    NO_REQUEST = -32600,
    NO_METHOD = -32601,
    WRONG_ARGUMENTS = -32602
};

/* A tool: a question about the trace folder `dir`. */
static const struct tool {
    const char *name, *help;
    bool asks_id;
} tools[] = {
    {"report",
     "What a recorded MPI, NCCL or Horovod job did, in at most 4 kB of JSON: the answer, the verdict, where the "
     "time went, what to mend and what that saves, with ids of the evidence.",
     false},
    {"show",
     "The evidence of an id that report gives: verdict, price-1, account-wait; iteration-3; or 3@12.5: rank 3 at 12.5 "
     "s.",
     true}};
enum { TOOLS = sizeof tools / sizeof *tools };

/* Prints a message with the id of `request` (NULL: null), and `value`, which it frees, as its result or error. */
static void answer(const cJSON *request, const char *key, cJSON *value)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(request, "id");
    cJSON *message = cJSON_CreateObject();
    cJSON_AddStringToObject(message, "jsonrpc", "2.0");
    cJSON_AddItemToObject(message, "id", id ? cJSON_Duplicate(id, true) : cJSON_CreateNull());
    cJSON_AddItemToObject(message, key, value);
    char *text = cJSON_PrintUnformatted(message);
    if (text)
        puts(text);
    fflush(stdout);
    free(text);
    cJSON_Delete(message);
}

static void refuse(const cJSON *request, int code, const char *why)
{
    cJSON *error = cJSON_CreateObject();
    cJSON_AddNumberToObject(error, "code", code);
    cJSON_AddStringToObject(error, "message", why);
    answer(request, "error", error);
}

static const char *text_of(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static void initialize(const cJSON *request, const cJSON *params)
{
    const char *version = text_of(params, "protocolVersion");
    cJSON *result = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "protocolVersion", version ? version : "2024-11-05");
    cJSON_AddObjectToObject(cJSON_AddObjectToObject(result, "capabilities"), "tools");
    cJSON *server = cJSON_AddObjectToObject(result, "serverInfo");
    cJSON_AddStringToObject(server, "name", "hpctop");
    cJSON_AddStringToObject(server, "version", HPCTOP_VERSION);
    answer(request, "result", result);
}

static void add_argument(cJSON *schema, const char *name, const char *help)
{
    cJSON *one = cJSON_AddObjectToObject(cJSON_GetObjectItemCaseSensitive(schema, "properties"), name);
    cJSON_AddStringToObject(one, "type", "string");
    cJSON_AddStringToObject(one, "description", help);
    cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(schema, "required"), cJSON_CreateString(name));
}

static void list_tools(const cJSON *request)
{
    cJSON *result = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(result, "tools");
    for (size_t i = 0; i < TOOLS; i++) {
        cJSON *tool = cJSON_CreateObject(), *schema = cJSON_AddObjectToObject(tool, "inputSchema");
        cJSON_AddStringToObject(tool, "name", tools[i].name);
        cJSON_AddStringToObject(tool, "description", tools[i].help);
        cJSON_AddStringToObject(schema, "type", "object");
        cJSON_AddObjectToObject(schema, "properties");
        cJSON_AddArrayToObject(schema, "required");
        add_argument(schema, "dir", "the trace folder");
        if (tools[i].asks_id)
            add_argument(schema, "id", "an id from report");
        cJSON_AddItemToArray(list, tool);
    }
    answer(request, "result", result);
}

/* Answers a question by `hpctop show` in another process. */
static void call_tool(const cJSON *request, const cJSON *params)
{
    const char *name = text_of(params, "name");
    const cJSON *arguments = cJSON_GetObjectItemCaseSensitive(params, "arguments");
    const char *folder = text_of(arguments, "dir"), *id = text_of(arguments, "id");
    const struct tool *tool = tools;
    while (tool < tools + TOOLS && (!name || strcmp(tool->name, name) != 0))
        tool++;
    if (tool == tools + TOOLS || !folder || (tool->asks_id && !id)) {
        refuse(request, WRONG_ARGUMENTS, "the tools are report, which needs dir, and show, which needs dir and id");
        return;
    }
    const char *brief[] = {"/proc/self/exe", "show", "--json", "--", folder, NULL},
               *evidence[] = {"/proc/self/exe", "show", "--", folder, id, NULL};
    static char said[ANSWER];
    const int status = tui_ask_for(PATIENCE_MS, tool->asks_id ? evidence : brief, said, sizeof said);
    cJSON *result = cJSON_CreateObject(), *text = cJSON_CreateObject();
    cJSON_AddStringToObject(text, "type", "text");
    cJSON_AddStringToObject(text, "text", said);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(result, "content"), text);
    cJSON_AddBoolToObject(result, "isError",
                          status != TUI_EXIT_OK && status != TUI_EXIT_TROUBLE && status != TUI_EXIT_WAITING);
    answer(request, "result", result);
}

static void handle(const cJSON *request)
{
    const char *method = text_of(request, "method");
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(request, "params");
    if (!method)
        refuse(request, NO_REQUEST, "a request has a method");
    else if (!cJSON_HasObjectItem(request, "id"))
        return; /* a notification has no answer */
    else if (strcmp(method, "initialize") == 0)
        initialize(request, params);
    else if (strcmp(method, "ping") == 0)
        answer(request, "result", cJSON_CreateObject());
    else if (strcmp(method, "tools/list") == 0)
        list_tools(request);
    else if (strcmp(method, "tools/call") == 0)
        call_tool(request, params);
    else
        refuse(request, NO_METHOD, "there is no such method");
}

int tui_command_mcp(int argc, char **argv)
{
    static char line[LINE];
    const struct tui_argument known[] = {{0}};
    int status = tui_arguments(argc, argv, known, NULL);
    if (status != TUI_EXIT_OK)
        return status;
    if (optind < argc)
        return tui_usage_error("mcp", "mcp has no arguments: a question names its folder");
    bool whole = true;
    while (fgets(line, sizeof line, stdin)) {
        const bool begins = whole;
        whole = strchr(line, '\n') != NULL;
        if (!begins || line[strspn(line, " \t\r\n")] == 0)
            continue;
        cJSON *request = whole || feof(stdin) ? cJSON_Parse(line) : NULL;
        if (request)
            handle(request);
        else
            refuse(NULL, NOT_JSON, whole ? "not a line of JSON" : "a line of more than 64 kB");
        cJSON_Delete(request);
    }
    return tui_finish(TUI_EXIT_OK);
}
