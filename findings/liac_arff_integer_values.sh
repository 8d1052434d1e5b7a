#!/usr/bin/env bash
# liac-arff 2.5.0 cuts the decimals of INTEGER attributes, 1.5 to 1, without an error.
#
# To Weka, INTEGER means the same as NUMERIC: any number. SciPy 1.16.3 reads the same file as 1.5. The
# copy of liac-arff in scikit-learn 1.7.2, which fetch_openml(parser="liac-arff") uses, cuts as well.
# Of a row with nan in such an attribute liac-arff returns all values as text. Seen on Python 3.11.
# Write NUMERIC in place of INTEGER before the text is parsed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/read.py" <<'PYTHON'
import io
from importlib.metadata import version

import arff
import sklearn
from scipy.io import arff as scipy_arff
from sklearn.externals import _arff

text = """@RELATION lengths
@ATTRIBUTE length INTEGER
@ATTRIBUTE width NUMERIC
@DATA
1.5,1.5
-0.75,-0.75
"""
expected = [[1, 1.5], [0, -0.75]]
nan_row = text.split("@DATA")[0] + "@DATA\nnan,2\n"
read = arff.loads(text)["data"]
copied = _arff.loads(text)["data"]
by_scipy = scipy_arff.loadarff(io.StringIO(text))[0].tolist()
text_row = arff.loads(nan_row)["data"]
print("liac-arff", version("liac-arff"), read, text_row)
print("scikit-learn", sklearn.__version__, copied)
print("SciPy", by_scipy)
assert read == expected, "liac-arff has changed"
assert [list(row) for row in copied] == expected, "scikit-learn has changed"
assert by_scipy == [(1.5, 1.5), (-0.75, -0.75)], "SciPy has changed"
assert text_row == [["nan", "2"]], "liac-arff has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet liac-arff==2.5.0 scikit-learn==1.7.2 scipy==1.16.3
"$folder/venv/bin/python" "$folder/read.py"
