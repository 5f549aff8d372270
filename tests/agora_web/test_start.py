"""What the web server reads before it answers its first page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from django.conf import settings

HEAVY = ("torch", "transformers", "sentence_transformers", "plotly", "pandas", "scipy")


def test_the_first_page_waits_for_no_library_that_it_does_not_need(tmp_path: Path) -> None:
    """Each costs a second and more; what needs one imports it where it works."""
    found = subprocess.run(
        [sys.executable, "-c", f"import sys, agora_web.asgi, agora_web.urls; print([one for one in {HEAVY} "
         "if one in sys.modules])"],
        cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": "/usr/bin:/bin", "AGORA_HOME": str(tmp_path)},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == "[]"
