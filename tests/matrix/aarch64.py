# timeout: 3000
"""aarch64, built by a cross compiler and run under qemu-user."""
from emulated import hold_processor

hold_processor("aarch64")
