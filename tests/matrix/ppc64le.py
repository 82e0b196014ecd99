# timeout: 3000
"""ppc64le (Power), built by a cross compiler and run under qemu-user."""
from emulated import hold_processor

hold_processor("powerpc64le")
