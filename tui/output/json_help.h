/* Contents of the JSON that hpctop prints, as text: the table json_keys.def. */
#pragma once

/* Prints on stdout a line a document, and below it one a key: path, type, meaning, each two blanks or more apart. */
void tui_json_help(void);
