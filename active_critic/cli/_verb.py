"""How any command reads its options: nothing that was typed is passed over, and no number is too large to be kept."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand

from active_critic.bounds import WHOLE


class Verb(TyperCommand):
    """A command that refuses an option which is given twice and counts once, and numbers that no result can hold."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options.

        Raises:
            typer.BadParameter: One is given twice, where the last would count alone, or is too large.
        """
        *_, order = self.make_parser(ctx).parse_args(args=[*args])
        for option, times in Counter(order).items():
            once = option.param_type_name == "option" and not (option.multiple or option.is_flag)  # type: ignore[attr-defined]
            if once and times > 1:
                name = option.opts[0]
                raise typer.BadParameter(f"{name} is given {times} times, and counts once; give it once", ctx=ctx)
        rest = super().parse_args(ctx, args)
        for option in self.params:
            if type(value := ctx.params.get(option.name)) is int and value > WHOLE:
                raise typer.BadParameter(f"{option.opts[0]} is at most {WHOLE:,}", ctx=ctx)
        return rest
