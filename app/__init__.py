"""Ridgepoint's app: the command, the window and the reports.

May import the simulator; meets calibration in data files alone.
"""

import os

# Read when numpy is loaded. A prediction's matrices are small: threads would wait for each other,
# and where other programs run too, a sweep takes three times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
