/* Values that this machine has for its GPUs, in the report and in its JSON. */
#include "tui/output/json.h"
#include "tui/output/sentences_impl.h"
#include "tui/output/report_json.h"
#include "tui/sources/node.h"

enum { REPORT_WAITS_S = 1 };

void tui_node_report(const struct ana_job *job, bool utf8, FILE *out)
{
    struct tui_node node;
    if (!tui_node_wait(job, REPORT_WAITS_S, &node))
        return;
    fprintf(out, "\nTHIS NODE, now\n");
    for (size_t i = 0; i < node.gpu_count; i++) {
        const struct tui_node_gpu *g = &node.gpu[i];
        char text[5][ANA_TEXT];
        const double value[] = {g->busy, g->nvlink_sent, g->nvlink_received, g->pcie_sent, g->pcie_received};
        for (int k = 0; k < 5; k++)
            ana_number(text[k], sizeof text[k], k ? ANA_BYTES : ANA_SHARE, value[k], utf8);
        fprintf(out, SAY_GPU_BUSY, i, g->name, text[0], text[1], text[2], text[3], text[4]);
    }
    if (node.ras.answers)
        fprintf(out, "  %s%s\n", node.ras.doubt ? "" : "NCCL's RAS: ", node.ras.text);
}

void tui_node_json(cJSON *root, const struct ana_job *job)
{
    struct tui_node node = {0};
    tui_node_wait(job, REPORT_WAITS_S, &node);
    cJSON *list = cJSON_AddArrayToObject(root, "node_gpus");
    for (size_t i = 0; i < node.gpu_count; i++) {
        const struct tui_node_gpu *g = &node.gpu[i];
        cJSON *o = tui_json_item(list);
        tui_json_text(o, "name", g->name);
        tui_json_real(o, "busy", g->busy);
        tui_json_real(o, "nvlink_sent_per_s", g->nvlink_sent);
        tui_json_real(o, "nvlink_received_per_s", g->nvlink_received);
        tui_json_real(o, "pcie_sent_per_s", g->pcie_sent);
        tui_json_real(o, "pcie_received_per_s", g->pcie_received);
    }
    tui_json_text(root, "nccl_ras", node.ras.answers ? node.ras.text : NULL);
}
