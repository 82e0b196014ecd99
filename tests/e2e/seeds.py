# timeout: 1800
# long
"""random_mix by many seeds, ranks and threads: whatever the order, every count and byte is right."""
from common import end
from truths import hold

for seed in range(10, 40):
    hold("random_mix", [str(seed), "300", str((1, 1, 2, 4)[seed % 4])], 1 + seed % 6)
end()
