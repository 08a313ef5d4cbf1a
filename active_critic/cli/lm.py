"""``active-critic lm``: the language models that run on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from active_critic.cli import _common as common
from active_critic.cli import _opening as opening
from active_critic.cli import _options as opts
from active_critic.cli._progress import pull_with_progress
from active_critic.cli._verb import Verb

app = typer.Typer(name="lm", help="The language models that run on this machine.", no_args_is_help=True)


@app.command("list", cls=Verb)
def list_models(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show the embedded models known by name, and which of them are here."""
    from active_critic.lm.catalogue import CATALOGUE
    from active_critic.lm.weights import cache_folder, is_pulled, local_path

    if as_json:
        import json

        records = [
            {
                "name": model.name,
                "aliases": list(model.aliases),
                "title": model.title,
                "bytes": model.bytes,
                "sha256": model.sha256,
                "licence": model.licence,
                "context": model.context,
                "note": model.note,
                "pulled": is_pulled(model),
                "path": str(local_path(model)),
            }
            for model in CATALOGUE
        ]
        typer.echo(json.dumps(records, indent=2))
        return

    from active_critic.report.tables import table_of

    table = table_of("name", "also called", "size", "licence", "context", "here", right=("size", "context"))
    for model in CATALOGUE:
        table.add_row(
            model.name,
            ", ".join(model.aliases),
            f"{model.bytes / 1e6:,.0f} MB",
            model.licence,
            f"{model.context:,}",
            "yes" if is_pulled(model) else "no",
        )
    console = common.console(stderr=False)
    console.print(table)
    console.print()
    for model in CATALOGUE:
        console.print(f"{model.name}: {model.note}", soft_wrap=True)
    console.print(f"\nKept in {cache_folder()}. Fetch one with: active-critic lm pull NAME", soft_wrap=True)


@app.command(cls=Verb)
def pull(name: Annotated[str, typer.Argument(help="A name from `lm list`, or `local` for the default.")]) -> None:
    """Fetch the weights of a model, verified; a pull that was interrupted goes on where it stopped."""
    from active_critic.lm.catalogue import find

    path = pull_with_progress(find(name))
    typer.echo(str(path))


@app.command(cls=Verb)
def check(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="A name from `lm list`, a GGUF file, or provider/model.")
    ] = "local",
    api_base: opts.ApiBase = None,
    api_key_env: opts.ApiKeyEnv = None,
    timeout: opts.Timeout = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Ask a model what it can really do, and how fast it is; a dozen small calls at most."""
    from active_critic.lm.check import check as ask

    options = {"api_base": api_base, "api_key_env": api_key_env, "timeout": timeout}
    with opening.opened(ctx.obj or common.Session(), name, options=options, journal="none", quiet=as_json) as model:
        found = ask(model)
    if as_json:
        import json

        typer.echo(json.dumps(found.to_dict(), indent=2))
        return

    from active_critic.report import findings_table

    common.console(stderr=False).print(findings_table(found))


@app.command(cls=Verb)
def serve(
    name: Annotated[str, typer.Argument(help="A name from `lm list`, or the path of a GGUF file.")] = "local",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on loopback; 0 takes a free one.")] = 8080,
    context: Annotated[int, typer.Option(min=256, help="Tokens of context to reserve.")] = 16384,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads to compute with; default: all processors.")
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE", help="Environment variable with the key clients must send; else one is made."),
    ] = None,
) -> None:
    """Serve an embedded model on loopback for any OpenAI client, until Ctrl-C."""
    import signal

    from active_critic.lm.catalogue import find
    from active_critic.lm.environment import named_key
    from active_critic.lm.server import LocalServer
    from active_critic.lm.weights import means_path, open_weights

    key = None if api_key_env is None else named_key(api_key_env)
    if not means_path(name):
        pull_with_progress(find(name))
    path, _, model = open_weights(name)
    server = LocalServer(
        path,
        alias=model.name if model else path.stem,
        context=min(context, model.context) if model else context,
        threads=threads,
        port=port,
        api_key=key,
    )
    # A service manager's way of saying Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with server:
            shown = f'os.environ["{api_key_env}"]' if api_key_env else f'"{server.api_key}"'
            typer.echo(
                f"Serving {server.alias} at {server.api_base} ({server.context:,} tokens of context). "
                f"Ctrl-C stops it.\n\n"
                f"    from openai import OpenAI\n"
                f'    client = OpenAI(base_url="{server.api_base}", api_key={shown})\n'
                f'    client.chat.completions.create(model="{server.alias}", '
                f'messages=[{{"role": "user", "content": "Hello"}}])\n'
            )
            server.wait()
    except KeyboardInterrupt:
        typer.echo("Stopped.", err=True)
