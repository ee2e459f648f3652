#!/usr/bin/env python
"""Lay out the files of a new API, from the template in `tests/support/toy`.

    python scripts/new_provider.py acme-chat "Acme Chat" acme

Writes a module with a decoder and an encoder, their entry, and the rows of the vendor. "Add an API" in
CONTRIBUTING.md says how to rewrite them, and what else the tests need.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lay_out(api: str, title: str, vendor: str, root: Path = ROOT) -> list[Path]:
    """Write the files of an API; return their paths.

    Raises:
        SystemExit: The ID is not one, or the API exists.
    """
    name, providers = api.replace("-", "_"), root / "src/agui_reasoning/providers"
    module, rows = providers / f"_apis/{name}.py", providers / f"rows/{api}.toml"
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", api):
        raise SystemExit(f"{api!r} is not an ID such as 'acme-chat'.")
    if rows.exists():
        raise SystemExit(f"{api!r} exists already.")
    of_toy = {
        '"tests.support.toy.api:': f'f"{{_HERE}}.{name}:',
        "ToyDecoder": "".join(map(str.capitalize, name.split("_"))) + "Decoder",
        "Toy Turns": title,
        "toymaker": vendor,
        "TOY = ": f"{name.upper()}: Final = ",
        "x-toy-key": f"x-{vendor}-key",
        '"toy"': f'"{api}"',
        '"toy.': f'"{vendor}.',
    }

    def adapted(file: str) -> str:
        template = (root / "tests/support/toy" / file).read_text("utf-8")
        return re.sub("|".join(map(re.escape, of_toy)), lambda found: of_toy[found[0]], template)

    apis = providers / "_apis/__init__.py"
    entry = adapted("entry.py").partition(f"\n{name.upper()}: ")
    listed = apis.read_text("utf-8").replace("    )\n}\n", f"        {name.upper()},\n    )\n}}\n")
    apis.write_text(listed.replace("\nAPIS: ", f"{''.join(entry[1:])}\nAPIS: "), "utf-8")
    module.write_text(re.sub(r'\A""".*?"""', f'"""{title}."""', adapted("api.py"), flags=re.DOTALL), "utf-8")
    rows.write_text(adapted("rows/toy.toml"), "utf-8")
    return [module, apis, rows]


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit('Usage: new_provider.py ID "TITLE" VENDOR')
    sys.stdout.writelines(f"{path.relative_to(ROOT)}\n" for path in lay_out(*sys.argv[1:]))
