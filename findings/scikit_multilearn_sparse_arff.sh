#!/usr/bin/env bash
# scikit-multilearn 0.2.0 takes a feature for a label if no row of a sparse ARFF file has the last.
#
# `load_from_arff(..., load_sparse=True)` counts columns by the largest index in the rows, not by the
# @attribute lines, and then cuts the labels off at the end. If a file of test rows lacks the last
# label, all labels move by one place, and the last feature is the first label. There is no error.
# Two features a and b, three labels, y3 in no row:
#                           X                     y
#   dense rows              [5.7, 1], [3.1, 0]    [1, 0, 0], [0, 1, 0]
#   the same rows, sparse   [5.7], [3.1]          [1, 1, 0], [0, 0, 1]
# Rows of zeros only at the end are lost. In Weka's format a value that a sparse row omits is 0, and
# the @attribute lines say how many there are. Seen on Python 3.11 with liac-arff 2.5.0 and requests,
# which the package needs and does not require. Use arff.load(file, return_type=arff.LOD), and as
# many columns as "attributes" has.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/load.py" <<'PYTHON'
import sys
from importlib.metadata import version
from pathlib import Path

from skmultilearn.dataset import load_from_arff

ATTRIBUTES = """@relation rows
@attribute a numeric
@attribute b numeric
@attribute y1 {0,1}
@attribute y2 {0,1}
@attribute y3 {0,1}
@data
"""
path = Path(sys.argv[1])


def load(*rows, sparse):
    path.write_text(ATTRIBUTES + "\n".join(rows) + "\n")
    features, labels = load_from_arff(path, label_count=3, load_sparse=sparse)
    return features.toarray().tolist(), labels.toarray().tolist()


print("scikit-multilearn", version("scikit-multilearn"))
dense = load("5.7,1,1,0,0", "3.1,0,0,1,0", sparse=False)
sparse = load("{0 5.7,1 1,2 1}", "{0 3.1,3 1}", sparse=True)
with_last = load("{0 5.7,1 1,2 1}", "{0 3.1,3 1}", "{4 1}", sparse=True)
zeros_last = load("{0 5.7,4 1}", "{}", sparse=True)
print("dense      X", dense[0], "y", dense[1])
print("sparse     X", sparse[0], "y", sparse[1])
print("with y3    X", with_last[0], "y", with_last[1])
print("zeros last X", zeros_last[0], "y", zeros_last[1])
assert dense == ([[5.7, 1], [3.1, 0]], [[1, 0, 0], [0, 1, 0]])
assert sparse == ([[5.7], [3.1]], [[1, 1, 0], [0, 0, 1]]), "scikit-multilearn has changed"
assert with_last[0][:2] == dense[0]
assert with_last[1][:2] == dense[1]
assert len(zeros_last[0]) == len(zeros_last[1]) == 1, "scikit-multilearn has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scikit-multilearn==0.2.0 liac-arff==2.5.0 \
    requests==2.34.2 scikit-learn==1.7.2 scipy==1.17.1 numpy==2.4.6
"$folder/venv/bin/python" "$folder/load.py" "$folder/rows.arff"
