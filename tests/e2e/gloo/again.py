import torch, torch.distributed as d, os
d.init_process_group('gloo')
x = torch.ones(1000)
for _ in range(5 + 5 * int(os.environ["TORCHELASTIC_RESTART_COUNT"])):
    d.all_reduce(x)
d.destroy_process_group()
