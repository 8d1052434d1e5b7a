#!/usr/bin/env bash
# CatBoost 1.2.10 takes SciPy's sparse matrices and refuses its sparse arrays of the same content.
#
# SciPy 1.17.1 names csr_array and csc_array as the classes for new code, and its functions return
# them if they are given one. CatBoostClassifier.fit raises
#   CatBoostError: Invalid data type=<class 'scipy.sparse._csr.csr_array'>: must be ...
# for them, and fits csr_matrix and csc_matrix. Seen on Python 3.11. A pipeline that ends in CatBoost
# needs scipy.sparse.csr_matrix(X).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet catboost==1.2.10 scipy==1.17.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import catboost
import numpy as np
import scipy
from scipy import sparse

print("catboost", catboost.__version__, "scipy", scipy.__version__)
dense, labels = np.eye(8, 3, dtype=np.float32), [0, 1] * 4
taken = {}
for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array):
    model = catboost.CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False)
    try:
        model.fit(kind(dense), labels)
        taken[kind.__name__] = True
    except catboost.CatBoostError as error:
        taken[kind.__name__] = False
        print(kind.__name__, str(error).splitlines()[0][:80])
print(taken)
expected = {"csr_matrix": True, "csc_matrix": True, "csr_array": False, "csc_array": False}
assert taken == expected, "the behaviour has changed"
PYTHON
