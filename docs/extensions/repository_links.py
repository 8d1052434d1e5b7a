"""Links between pages that have another place on the site than in the repository.

Pages link to files, such as ``../CONTRIBUTING.md`` and ``examples/own_strategy.py``, so that the
links work where the repository is read. On the site, these are pages.
"""

from __future__ import annotations

import re
from typing import Any

PLACES = {
    "../README.md": "index.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "examples/GALLERY_HEADER.rst": "generated/gallery/index.rst",
}
EXAMPLE = re.compile(r"\]\(examples/(\w+)\.py\)")


def _redirect(app: Any, page: str, source: list[str]) -> None:
    for there, here in PLACES.items():
        source[0] = re.sub(rf"\]\({re.escape(there)}(?=[)#])", f"]({here}", source[0])
    source[0] = EXAMPLE.sub(r"](generated/gallery/\1.rst)", source[0])


def setup(app: Any) -> dict[str, bool]:
    """Listen to pages as they are read."""
    app.connect("source-read", _redirect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
