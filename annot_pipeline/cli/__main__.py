"""``python -m annot_pipeline.cli``."""

import sys

from annot_pipeline.cli import main

sys.exit(main())
