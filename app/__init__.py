"""Ridgepoint's app: the command, the window and the reports.

May import the simulator; shares only data files with calibration.
"""

import os

# OpenBLAS reads this when numpy is loaded. A prediction's matrices are small: threads would wait
# for each other, and while other programs are busy, a sweep would take three times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
