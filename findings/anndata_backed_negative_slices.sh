#!/usr/bin/env bash
# anndata 0.12.19: a negative slice of a backed sparse matrix gives the values of the next rows.
#
# `read_h5ad(path, backed="r")` leaves X in the file. A slice that counts from the end is looked up
# in the row pointers of the matrix, of which there is one more than rows: it starts one row too far
# down. Names and labels are those of the right rows, so that each cell gets the expression of the
# cell after it, without an error. CSR, 60 cells, the values compared with those in memory:
#   [50:55]       5 of 5 cells are right
#   [-10:-5]      0 of 5
#   [-60:-10]     0 of 50
# The same holds for genes with CSC. If only one bound is negative, as in [-10:], an error follows:
# "index pointer size 10 should be 11". A dense X is right. Seen on Python 3.11 with SciPy 1.17.1.
# Write positive bounds, n_obs - 10 in place of -10, or read the file into memory.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/slices.py" <<'PYTHON'
import sys
from importlib.metadata import version

import anndata
import numpy as np
from scipy import sparse

counts = np.random.default_rng(1).poisson(2.0, (60, 40)).astype(np.float32)


def backed(matrix):
    path = f"{sys.argv[1]}/{type(matrix).__name__}.h5ad"
    anndata.AnnData(matrix).write_h5ad(path)
    return anndata.read_h5ad(path, backed="r")


def values(cells):
    return cells.X.toarray() if sparse.issparse(cells.X) else np.asarray(cells.X)


print("anndata", version("anndata"))
in_file = backed(sparse.csr_matrix(counts))
in_memory = in_file.to_memory()
for rows, expected in ((slice(50, 55), 5), (slice(-10, -5), 0), (slice(-60, -10), 0)):
    right = (values(in_file[rows]) == counts[rows]).all(axis=1).sum()
    print(f"cells [{rows.start}:{rows.stop}]: {right} of {in_file[rows].n_obs} are right")
    assert np.array_equal(values(in_memory[rows]), counts[rows])
    assert list(in_file[rows].obs_names) == list(in_memory[rows].obs_names)
    assert right == expected, "anndata has changed"
assert np.array_equal(values(in_file[-10:-5]), counts[51:56]), "anndata has changed"
try:
    values(in_file[-10:])
except ValueError as error:
    print("cells [-10:]:", error)
else:
    raise AssertionError("anndata has changed")

in_file = backed(sparse.csc_matrix(counts))
right = (values(in_file[:, -10:-5]) == counts[:, -10:-5]).all(axis=0).sum()
print(f"genes [-10:-5] of CSC: {right} of 5 are right")
assert np.array_equal(values(in_file[:, -10:-5]), counts[:, 31:36]), "anndata has changed"

in_file = backed(counts)
assert np.array_equal(values(in_file[-10:-5]), counts[-10:-5])
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet anndata==0.12.19 scipy==1.17.1 numpy==2.4.6 pandas==2.3.3
"$folder/venv/bin/python" -W ignore "$folder/slices.py" "$folder"
