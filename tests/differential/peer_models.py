"""Runs inside an old version's environment: reads arrays of events, and says which ones its models refuse."""

import json
import sys
from importlib.metadata import version

from ag_ui.core import events as models
from pydantic import TypeAdapter, ValidationError


def readers():
    """How each type is read: by the union of events, or by its model where the union lacks it."""
    union = TypeAdapter(models.Event)
    known = {}
    listed = str(models.Event)
    for model in vars(models).values():
        if isinstance(model, type) and issubclass(model, models.BaseEvent) and model is not models.BaseEvent:
            kind = model.model_fields["type"].default.value
            known[kind] = union.validate_python if model.__name__ in listed else model.model_validate
    return known


def refusals(events, known):
    """One line for each event that is refused."""
    for number, event in enumerate(events):
        read = known.get(event["type"])
        if read is None:
            yield f"{number}: there is no {event['type']}"
            continue
        try:
            read(event)
        except ValidationError as error:
            yield f"{number}: {event['type']}: {error.errors()[0]['loc']} {error.errors()[0]['msg']}"


def main():
    known = readers()
    print(json.dumps(version("ag-ui-protocol")), flush=True)
    for line in sys.stdin:
        print(json.dumps(list(refusals(json.loads(line), known))), flush=True)


main()
