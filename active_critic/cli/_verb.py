"""How any command reads its options: nothing that was typed is passed over unsaid, and no number is too large."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand

from active_critic.bounds import WHOLE
from active_critic.cli._common import show_notes


class Verb(TyperCommand):
    """A command that says where an option is given twice and counts once, and refuses numbers that no result holds."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options.

        Raises:
            typer.BadParameter: A number is too large.
        """
        *_, order = self.make_parser(ctx).parse_args(args=[*args])
        rest = super().parse_args(ctx, args)
        for option, times in Counter(order).items():
            once = option.param_type_name == "option" and not (option.multiple or option.is_flag)  # type: ignore[attr-defined]
            if once and times > 1:  # as where a script or an alias has its own, and it is given another
                said = f"{option.opts[0]} is given {times} times, and counts once: the last one does"
                show_notes([said], quiet=ctx.params.get("quiet", False))
        for option in self.params:
            if type(value := ctx.params.get(option.name)) is int and value > WHOLE:
                raise typer.BadParameter(f"{option.opts[0]} is at most {WHOLE:,}", ctx=ctx)
        return rest
