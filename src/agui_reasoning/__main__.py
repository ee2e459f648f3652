"""``python -m agui_reasoning`` is the command ``agui-reasoning``."""

import sys

from agui_reasoning.cli import main

sys.exit(main())
