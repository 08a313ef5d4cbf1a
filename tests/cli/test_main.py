from __future__ import annotations

import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer
from conftest_cli import FIT, refuse
from loopback import Say, serving

from active_critic import __version__, errors
from active_critic.cli import main
from active_critic.cli._app import EXIT_CODES, app
from active_critic.cli._common import Session
from active_critic.cli._failures import CODES, explain
from active_critic.cli._interrupts import Interrupts
from active_critic.cli._options import parse_fields
from active_critic.evaluators import load
from active_critic.lm import Capabilities, open_lm, scripted_lm


def test_help_names_every_verb_and_documents_the_exit_codes(run) -> None:
    shown = run("--help")
    assert shown.code == 0
    for verb in ("fit", "score", "show", "agreement", "compare", "curve", "probe", "suggest", "quickstart", "lm"):
        assert f"\n  {verb} " in shown.out
    for code in (0, 1, 2, 3, 4, 5, 6, 7, 8, 130, 141, 143):
        assert f"\n    {code} " in shown.out
    assert run("--version").out == f"active-critic {__version__}\n"


def test_help_and_version_import_nothing_heavy() -> None:
    script = """
        import sys
        from active_critic.cli import main
        main(["fit", "--help"])
        heavy = {"dspy", "numpy", "scipy", "openai", "litellm", "rich", "pandas", "xllamacpp"}
        sys.exit(", ".join(sorted(heavy & set(sys.modules))) or 0)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["score", "FILE", "FILE", "-o", "NAME.csv", "--html", "NAME.txt"],
        ["fit", "NAME.jsonl", "-o", "NAME.jsonl"],
        ["curve", "FILE", "--plot", "NAME.txt"],
        ["fit", "FILE", "-o", "x.json", "NAME"],
        ["--NAME"],
    ],
    ids=" ".join,
)
def test_usage_errors_do_not_drive_the_terminal(run, examples, words: list[str]) -> None:
    name = "x\x1b]0;owned\x07\u202e"
    said = run(*(word.replace("FILE", str(examples)).replace("NAME", name) for word in words))
    assert said.code == 2
    assert "Error: " in said.err
    assert r"x\x1b]0;owned\x07\u202e" in said.err
    assert not {"\x1b", "\x07", "\u202e"} & set(said.out + said.err)


def test_usage_errors_are_2(run, examples) -> None:
    assert run("nonsense").code == 2
    assert run("fit", examples).code == 2
    bad = run("fit", examples, "--out", "p.json", "--fields", "overall")
    assert bad.code == 2
    assert "'overall' is not FIELD=COLUMN" in bad.err
    assert run("fit", examples, "--out", "p.json", "--rest", "r.jsonl").code == 2
    assert run("fit", examples, "--out", "p.json", "--train", "1.5").code == 2
    assert run("fit", examples, "--out", "p.json", "--mode", "medium").code == 2


def test_fields_may_name_columns_with_commas() -> None:
    assert parse_fields(["score=overall,group=doc_id", "source=text, long"]) == {
        "score": "overall",
        "group": "doc_id",
        "source": "text, long",
    }
    with pytest.raises(typer.BadParameter, match="twice"):
        parse_fields(["score=a,score=b"])


@pytest.mark.parametrize("column", ["Rating (1=bad, 5=good)", "Rating (bad=1, good=5)", "a, b", "x=1"])
def test_fields_may_name_columns_with_commas_and_equals_signs(column: str) -> None:
    asked = {"response": "answer", "score": column, "group": "doc_id"}
    assert parse_fields([f"response=answer,score={column}, group = doc_id"]) == asked


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("zz=1", "'zz' is not a field; fields are 'response'"),
        ("scor=rating", "'scor' is not a field.*did you mean 'score'"),
        ("score=rating,gruop=doc_id", "'gruop' is not a field; did you mean 'group'"),
        ("score=rating, Group=doc_id", "'Group' is not a field; did you mean 'group'"),
    ],
)
def test_fields_that_there_are_not_are_2(run: Any, examples: Path, given: str, says: str) -> None:
    with pytest.raises(typer.BadParameter, match=says):
        parse_fields([given])
    for command in (["fit", examples, "-o", "p.json"], ["score", examples, examples]):
        assert run(*command, "--fields", given, opener=refuse).code == 2


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (errors.MissingExtra("no pyarrow"), 2),
        (errors.DataError("bad row"), 3),
        (errors.AuthenticationFailed("wrong key"), 4),
        (errors.UnreadableReply("no form", reply="x"), 4),
        (errors.ProtocolError("damaged"), 5),
        (errors.JournalError("locked"), 5),
        (errors.OutputError("disk full"), 5),
        (OSError(28, "No space left on device", "out.json"), 5),
        (errors.FitError("too few"), 6),
        (KeyError("x"), 1),
    ],
)
def test_every_kind_of_error_has_its_exit_code(problem, code, capsys) -> None:
    assert explain(problem, None) == code
    said = capsys.readouterr().err
    assert "error: " in said
    assert ("KeyError" in said) == (code == 1)


def test_every_error_of_the_package_has_a_code_of_its_own() -> None:
    direct = set(errors.ActiveCriticError.__subclasses__())
    assert direct <= {kind for kind, _ in CODES}
    assert all(f"\n  {code} " in EXIT_CODES for _, code in CODES)


def test_messages_cannot_drive_the_terminal(capsys) -> None:
    explain(errors.DataError("there is no column '\x1b[2J\x1b]0;owned\x07\u202ename'"), None)
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "\u202e" not in said
    assert r"\x1b[2J" in said


def test_markup_in_messages_is_shown_as_it_is(capsys) -> None:
    explain(errors.DataError("column [bold]x[/bold] :smile:"), None)
    assert "column [bold]x[/bold] :smile:" in capsys.readouterr().err


def test_only_a_command_that_calls_a_model_is_told_of_workers_when_memory_runs_out(capsys) -> None:
    for session, remedy in ((Session(opened=True), "use fewer --workers"), (Session(), "split the file, or leave out")):
        assert explain(MemoryError(), session) == 1
        assert f"error: there is not enough memory; {remedy}" in capsys.readouterr().err


def test_an_interrupt_says_whether_the_same_command_goes_on(capsys, tmp_path) -> None:
    assert explain(KeyboardInterrupt(), Session()) == 130
    assert capsys.readouterr().err == "interrupted\n"
    explain(KeyboardInterrupt(), Session(opened=True, journal=tmp_path / "j"))
    assert "everything paid for is in the journal, run the same command again to go on" in capsys.readouterr().err
    noticed = Interrupts()
    noticed.noticed = True
    assert explain(errors.EndpointDown("x"), Session(opened=True, journal=tmp_path / "j", interrupts=noticed)) == 130
    assert capsys.readouterr().err.count("everything paid for") == 1
    explain(KeyboardInterrupt(), Session(opened=True))
    assert "no journal was kept" in capsys.readouterr().err


def test_an_unexpected_error_is_1_and_shows_where(run, monkeypatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("active_critic.store.read", broken)
    failed = run("show", "p.json")
    assert failed.code == 1
    assert "ZeroDivisionError: oops" in failed.err
    assert "please report it" in failed.err


@pytest.mark.parametrize(
    "argv", [["show", "--schema"], ["--help"], ["--version"], ["lm", "list"], ["datasets", "list"]], ids=" ".join
)
def test_a_reader_that_goes_away_is_met_quietly(argv: list[str]) -> None:
    script = f"import sys; from active_critic.cli import main; sys.exit(main({argv!r}))"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        err = process.stderr.read() if process.stderr else b""
        assert process.wait(20) == 141
    assert err == b""


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_in_a_real_process(presses, program, examples, tmp_path) -> None:
    # One waits for the call in flight, a second one ends at once although the model does not answer.
    script = f"""
        import signal, sys, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it
        sys.path[:0] = {[entry for entry in sys.path if entry]!r}
        from active_critic.cli import main
        from simulated import simulated_lm
        def rate(response, turns):
            print("asked", flush=True)
            time.sleep(0.2 if {presses} == 1 else 60)
            return 3
        sys.exit(main(["score", {str(program)!r}, {str(examples)!r}, "-o", "s.jsonl",
                       "--journal", "other.sqlite"],
                      opener=lambda name, **_: simulated_lm(rate, name=name)))
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        assert process.stdout.readline() == "asked\n"
        err = ""
        for press in range(presses):
            while press and "Ctrl-C again" not in err:
                line = process.stderr.readline()
                assert line, err
                err += line
            process.send_signal(signal.SIGINT)
        err += process.communicate(timeout=90)[1]
    assert process.returncode == 130, err
    assert "Ctrl-C again stops at once" in err
    kept = "is in the journal (1 reply added in this run)" if presses == 1 else "is in the journal"
    assert err.splitlines()[-1].endswith(f"{kept}, run the same command again to go on")
    assert ("the calls in flight are not kept" in err) == (presses == 2)
    assert "Traceback" not in err


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_while_a_fit_asks_for_the_task_keeps_the_reply_in_flight(examples, tmp_path) -> None:
    script = f"""
        import signal, sys, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.path[:0] = {[entry for entry in sys.path if entry]!r}
        from active_critic.cli import main
        from simulated import simulated_lm
        def rate(response, turns):
            print("asked", flush=True)
            time.sleep(0.5)
            return 3
        sys.exit(main(["fit", {str(examples)!r}, "--out", "p.json", "--scale", "1..5", "--journal", "j.sqlite"],
                      opener=lambda name, **_: simulated_lm(rate, name=name)))
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=90)
    assert process.returncode == 130, err
    assert out == ""  # nothing more was asked
    assert "run the same command again to go on" in err
    with closing(sqlite3.connect(tmp_path / "j.sqlite")) as journal:
        assert journal.execute("SELECT count(*) FROM replies").fetchone() == (1,)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_that_arrives_as_another_exception_is_an_interruption(run, program, examples) -> None:
    def opening(name, **_):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        except KeyboardInterrupt:
            raise ValueError("a schema could not be built") from None  # as pydantic does

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        stopped = run("score", program, examples, "-o", "s.jsonl", opener=opening)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.code == 130
    assert "interrupted; everything paid for is in the journal" in stopped.err
    assert "schema" not in stopped.err

    def failing(name, **_):
        raise ValueError("a schema could not be built")

    assert run("score", program, examples, "-o", "s.jsonl", opener=failing).code == 1  # it is not held against it


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("module", ["typer", "typer.core", "active_critic.cli.fit"])
def test_ctrl_c_while_modules_are_imported_is_told_in_a_word(module) -> None:
    script = f"""
        import signal, sys, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        class Slow:
            def find_spec(name, *_):
                if name == {module!r}:
                    print("importing", flush=True)
                    time.sleep(60)
        sys.meta_path.insert(0, Slow)
        from active_critic.cli import main
        sys.exit(main(["--version"]))
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], **pipes) as process:
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=90)
    assert (process.returncode, err) == (130, "interrupted\n")


def at_an_address(name: str, **options: Any) -> Any:
    """The real thing, whose abilities need not be found out."""
    lm = open_lm(name, **options)
    lm._capabilities = Capabilities(json_schema=True, probabilities=True)
    return lm


@pytest.mark.parametrize("name", ["openai/x", "my-model", "Qwen/Qwen2.5-7B-Instruct", "m.gguf"])
def test_texts_judged_at_an_address_of_ones_own_go_nowhere_else(run, examples, tmp_path, monkeypatch, name) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-place")
    answers = Say('{"overall": 4}', tokens=[('{"overall": ', -0.1, {}), ("4", -0.1, {"4": -0.01}), ("}", -0.1, {})])
    with serving(lambda body: answers) as server:
        command = ("fit", examples, "--evaluator", "zero-shot", "--scale", "1..5", "--out", "z.json")
        fitted = run(*command, "--lm", name, "--api-base", server.api_base, opener=at_an_address)
        assert fitted.code == 0, fitted.err
        again = fitted.out.split("score with: ")[1].strip()
        assert again == f"active-critic score z.json ITEMS --api-base {server.api_base}"
        assert server.api_base not in Path("z.json").read_text()
        elsewhere = run("score", "z.json", examples, "-o", "v.jsonl", opener=None)
        assert elsewhere.code == 4
        assert (
            f"fitted with {name} at an address of your own, which programs do not keep. Say it again: --api-base URL"
            in elsewhere.err
        )
        with pytest.raises(errors.UnknownModel, match="at an address of your own"):
            load("z.json", journal=None).score("a response")
        assert server.calls == 0
        options = shlex.split(again)[4:]
        there = run("score", "z.json", examples, "-o", "v.jsonl", *options, opener=at_an_address)
        assert there.code == 0, there.err
        assert server.calls > 0


def test_an_address_in_the_providers_variable_need_not_be_said_again(run, examples, monkeypatch) -> None:
    answers = Say('{"overall": 4}', tokens=[('{"overall": ', -0.1, {}), ("4", -0.1, {"4": -0.01}), ("}", -0.1, {})])
    with serving(lambda body: answers) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.api_base)
        command = ("fit", examples, "--evaluator", "zero-shot", "--scale", "1..5", "--out", "z.json")
        assert run(*command, "--lm", "openai/x", opener=at_an_address).code == 0
        assert run("score", "z.json", examples, "-o", "v.jsonl", opener=at_an_address).code == 0
        assert server.calls > 0


def test_the_app_is_what_the_console_script_runs() -> None:
    assert callable(main)
    verbs = {"agreement", "compare", "curve", "fit", "probe", "score", "show", "suggest", "quickstart", "means"}
    assert {command.name for command in app.registered_commands} == verbs


def test_check_shows_what_a_model_can_do(run) -> None:
    shown = run("lm", "check", "openai/x")
    assert shown.code == 0, shown.err
    assert "token probabilities" in shown.out
    found = run("lm", "check", "openai/x", "--json").document
    assert found["model"] == "openai/x"
    assert found["chat"] is True


def test_weights_that_are_missing_are_announced_and_fetched_before_anything_else(
    examples, capfd, monkeypatch, tmp_path
) -> None:
    def fails(model, *, quiet):
        raise errors.DownloadFailed(f"{model.name} could not be fetched")

    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("active_critic.cli._progress.pull_with_progress", fails)
    assert main(["fit", str(examples), "--out", str(tmp_path / "p.json")]) == 4
    said = capfd.readouterr().err
    assert "1,117 MB (Apache-2.0)" in said
    assert "qwen2.5-coder-1.5b could not be fetched" in said


@pytest.mark.parametrize("option", [["--workers", "4"], ["--api-key-env", "NO_KEY"]])
def test_an_option_that_a_model_has_no_use_for_is_refused_before_its_weights_are_fetched(
    examples, capfd, monkeypatch, tmp_path, option
) -> None:
    monkeypatch.setenv("ACTIVE_CRITIC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("active_critic.cli._progress.pull_with_progress", lambda model, quiet: refuse(model.name))
    assert main(["fit", str(examples), "--out", str(tmp_path / "p.json"), *option]) == 4
    assert f"({option[0]}) out" in capfd.readouterr().err


@pytest.mark.parametrize("seconds", ["0", "-3", "nan", "inf"])
def test_a_time_out_that_is_no_time_is_refused(examples, capfd, tmp_path, seconds) -> None:
    assert main(["fit", str(examples), "--out", str(tmp_path / "p.json"), f"--timeout={seconds}"]) == 2
    assert "not a number of seconds" in capfd.readouterr().err


def test_a_reply_may_take_as_long_as_is_said(loopback, capfd) -> None:
    def patient(name, **given):
        lm = open_lm(name, **given)
        lm._wait = lambda seconds: None  # between two attempts
        return lm

    loopback.answer = lambda body: Say("4", slow=0.6)
    check = ["lm", "check", "openai/x", "--api-base", loopback.api_base, "--timeout"]
    assert main([*check, "0.2"], opener=patient) == 4
    said = " ".join(capfd.readouterr().err.split())
    assert "no whole reply within 0.2 seconds" in said
    assert "may be given more time: --timeout SECONDS" in said
    assert main([*check, "20"], opener=patient) == 0


def test_a_tilde_in_an_option_is_the_user_s_folder(run, examples, tmp_path, monkeypatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    fitted = run("fit", examples, "--out=~/p.json", "--journal=~/j", "--train=0.6", "--rest=~/r.jsonl", *FIT)
    assert fitted.code == 0, fitted.err
    assert run("score", home / "p.json", examples, "--out=~/s.jsonl", "--journal=~/j").code == 0
    assert {"p.json", "j", "r.jsonl", "s.jsonl"} <= {path.name for path in home.iterdir()}
    assert not (tmp_path / "~").exists()
    (home / "task.txt").write_text("Judge replies.")
    pinned = ("--task=@~/task.txt", "--criteria=@~/p.json", "--no-report")
    assert run("fit", "~/r.jsonl", "--out", home / "pinned.json", *pinned, *FIT).code == 0
    chosen = run("suggest", "~/p.json", "~/s.jsonl", "-n", 2, "--labelled=~/s.jsonl", "--fields=score=rating")
    assert "12 labelled already" in chosen.err  # so that both files were found
    (home / "pool.jsonl").write_text((home / "s.jsonl").read_text().replace("Reply", "Another reply"))
    chosen = run("suggest", "~/p.json", "~/pool.jsonl", "-n", 2, "--labelled=~/r.jsonl")
    assert chosen.code == 0, chosen.err
    refused = run("fit", "~/r.jsonl", f"--out={home}/r.jsonl", opener=refuse)
    assert "r.jsonl would be written over" in " ".join(refused.err.split())
    refused = run("score", home / "p.json", examples, f"--out={home}/k.jsonl", "--journal=~/k.jsonl", opener=refuse)
    assert "k.jsonl would be written over" in " ".join(refused.err.split())


def test_an_unknown_model_names_the_nearest(examples, capfd, tmp_path) -> None:
    assert main(["fit", str(examples), "--out", str(tmp_path / "p.json"), "--lm", "locl"]) == 4
    assert "Did you mean 'local'?" in capfd.readouterr().err


def test_a_key_that_is_not_set_is_named(examples, capfd, tmp_path) -> None:
    command = ["fit", str(examples), "--out", str(tmp_path / "p.json"), "--lm", "openai/x", "--api-key-env", "NO_KEY"]
    assert main(command) == 4
    assert "NO_KEY holds no key" in capfd.readouterr().err


def in_a_shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a shell, as ``ac``."""
    script = f'ac() {{ {shlex.quote(sys.executable)} -m active_critic "$@"; }}; {command}'
    return subprocess.run(["/bin/sh", "-c", script], cwd=folder, capture_output=True, text=True)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("show p.json >&-", 0),
        ("agreement examples.jsonl --human rating --predicted rating2 --json 2>&-", 3),
        ("show p.json --json >&- 2>&-", 0),
        ("show p.json <&-", 0),
    ],
)
def test_a_stream_that_is_closed_is_no_fault(program, examples, tmp_path, command, code) -> None:
    done = in_a_shell(tmp_path, f"ac {command}")
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("command", "code", "lines"),
    [
        ("--help >/dev/full", 5, 0),
        ("show p.json >/dev/full", 5, 0),
        ("agreement examples.jsonl --human rating --predicted rating2 2>/dev/full", 3, 0),
        ("score surface.json examples.jsonl 2>/dev/full", 0, 12),
    ],
)
def test_what_is_said_beside_the_results_costs_no_run_where_it_cannot_be_written(
    run, program, examples, tmp_path, command, code, lines
) -> None:
    fitted = run("fit", examples, "--out", "surface.json", "--evaluator", "surface", "--scale", "1..5")
    assert fitted.code == 0, fitted.err
    done = in_a_shell(tmp_path, f"ac {command}")
    assert (done.returncode, "Traceback" in done.stderr, done.stdout.count("\n")) == (code, False, lines)


def test_what_failed_before_anything_was_answered_does_not_go_on(run: Any, program: Path, examples: Path) -> None:
    def refused(turns: Any) -> str:
        raise errors.AuthenticationFailed("wrong key")

    def wrong_key(name: str, **_: Any) -> Any:
        return scripted_lm(refused, name=name)

    def no_key(name: str, **_: Any) -> Any:
        raise errors.AuthenticationFailed("no key in the variable KEY")

    going_on = "run the same command again to go on"
    asked = ("score", program, examples, "-o", "s.jsonl")
    for fails in (wrong_key, no_key):
        done = run(*asked, "--journal", "new.sqlite", opener=fails)
        assert (done.code, going_on in done.err) == (4, False), done.err
    assert run(*asked, "--journal", "new.sqlite", "--limit", 1).code == 0
    replayed = run(*asked, "--journal", "new.sqlite", opener=wrong_key)
    assert (replayed.code, going_on in replayed.err) == (4, True), replayed.err
