#!/usr/bin/env bash
# joblib 1.6.0 no longer contains cloudpickle: joblib.externals.cloudpickle is gone, and cloudpickle
# is a dependency. Version 1.5.3 contains it and does not depend on it; both contain loky.
#
# A package that requires scikit-learn gets either version, and with it one of the two modules:
# code that sends functions of notebooks to other processes by one import of them fails with
#   ModuleNotFoundError: No module named 'joblib.externals.cloudpickle'   (1.6.0)
#   ModuleNotFoundError: No module named 'cloudpickle'                    (1.5.3)
# Seen on Python 3.11. Try `cloudpickle` first, then the other one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 1.5.3 1.6.0; do
  python3 -m venv "$folder/$version"
  "$folder/$version/bin/pip" install --quiet "joblib==$version"
  (cd "$folder" && "$folder/$version/bin/python" - <<'PYTHON'
import importlib

import joblib

names = ("joblib.externals.cloudpickle", "cloudpickle", "joblib.externals.loky")
found = {}
for name in names:
    try:
        importlib.import_module(name)
        found[name] = True
    except ModuleNotFoundError as error:
        found[name] = False
        print(joblib.__version__, error)
print(joblib.__version__, found)
old = joblib.__version__ == "1.5.3"
assert found == dict(zip(names, (old, not old, True))), "the behaviour has changed"
PYTHON
  )
done
