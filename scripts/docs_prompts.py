"""The table of `docs/prompts.md`, from the layers themselves; what they say is not known here."""

import inspect

from interlock.agents.prompts.bootstrap import FILES
from interlock.agents.prompts.prompt import LAYERS, Layer


def layers() -> str:
    """Every layer in its order, what it says, when it changes, and where it is."""
    head = "| | layer | says | changes | minimal mode | if another fails |\n| --- | --- | --- | --- | --- | --- |"
    return "\n".join([head, *(_row(number, layer) for number, layer in enumerate(LAYERS, start=1))])


def _row(number: int, layer: Layer) -> str:
    cells = (
        str(number), f"`{layer.name}`", _says(layer), "now and then" if layer.stable else "in every run",
        "yes" if layer.minimal else "", "stays" if layer.essential else "",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _says(layer: Layer) -> str:
    if layer.name in FILES:
        return "the file, if it is there" if layer.name != FILES[-1] else "the file, while there is no other"
    said = (inspect.getdoc(layer.render) or "").split("\n", 1)[0].rstrip(".")
    return said[:1].lower() + said[1:]
