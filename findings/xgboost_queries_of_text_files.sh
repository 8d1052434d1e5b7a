#!/usr/bin/env bash
# XGBoost 3.2.0 reads a query whose rows are apart in a text file as several queries, silently.
#
# A svmlight file names the query of each row by qid, and need not be sorted by it. Of the rows with
# qid 7, 8, 7, 8 XGBoost's DMatrix makes four queries of one row each, without a message: nothing is
# left to rank, and NDCG is 1. The same rows as arrays with qid raise
#   `qid` must be sorted in non-decreasing order along with data.
# CatBoost 1.2.10 refuses the file: "queryIds should be grouped". scikit-learn 1.7.2 returns
# [7 8 7 8]. Seen on Python 3.11. Sort the rows of such a file by qid first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/queries.py" <<'PYTHON'
import sys
from importlib.metadata import version

import catboost
import xgboost
from sklearn.datasets import load_svmlight_file

path = f"{sys.argv[1]}/apart.svm"
with open(path, "w") as file:
    file.write("2 qid:7 1:0.5\n0 qid:8 1:1.5\n1 qid:7 1:2.5\n1 qid:8 1:0.25\n")
of_file = xgboost.DMatrix(f"{path}?format=libsvm")
ends = of_file.get_uint_info("group_ptr").tolist()
settings = {"objective": "rank:ndcg", "eval_metric": "ndcg", "max_depth": 1}
score = xgboost.train(settings, of_file, 1).eval(of_file)
print("XGBoost", version("xgboost-cpu"), "queries end at", ends, score)
assert ends == [0, 1, 2, 3, 4], "XGBoost has changed"
assert score.endswith("ndcg:1.00000000000000000"), "XGBoost has changed"

X, y, queries = load_svmlight_file(path, query_id=True)
print("scikit-learn", version("scikit-learn"), queries)
assert queries.tolist() == [7, 8, 7, 8], "scikit-learn has changed"
for name, read, words in (
    ("XGBoost, arrays", lambda: xgboost.DMatrix(X, y, qid=queries), "must be sorted"),
    ("CatBoost", lambda: catboost.Pool(f"libsvm://{path}"), "should be grouped"),
):
    try:
        read()
    except Exception as error:
        print(name, str(error).splitlines()[0])
        assert words in str(error), f"{name}: another message"
    else:
        raise AssertionError(f"{name} takes queries that are apart")
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet xgboost-cpu==3.2.0 catboost==1.2.10 scikit-learn==1.7.2
"$folder/venv/bin/python" -W ignore "$folder/queries.py" "$folder"
