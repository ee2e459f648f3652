"""Entry point of ``python -m agui_reasoning.cli``."""

import sys

from agui_reasoning.cli import main

sys.exit(main())
