"""Ctrl-C and other signals while commands run."""

import subprocess
import sys
import textwrap

import paragrad as pg
import pytest
import strategies

TASK = """
    import os, signal, sys, threading, time
    import numpy as np, paragrad as pg
    pg.train  # imports everything before a signal comes
    task = dict(data=sys.argv[1], model="20-32-5:relu", learning_rate=0.1, blocks=3)
    def after(seconds, number=signal.SIGINT):
        threading.Timer(seconds, lambda: os.kill(os.getpid(), number)).start()
"""


def python(script: str, task: dict, timeout: float = 60) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(TASK) + textwrap.dedent(script), task["data"]], capture_output=True, text=True,
                          timeout=timeout)
    return done.stdout or done.stderr


def test_no_signal_is_swallowed_in_a_loop_of_short_runs(task):
    said = python("""
        sent = caught = 0
        random = np.random.default_rng(1)
        while sent < 60:
            sent += 1
            try:
                after(random.uniform(0, 0.02))
                while True:
                    pg.train(epochs=1, **task)
            except KeyboardInterrupt:
                caught += 1
        print(sent, caught)
        """, task, 120)
    assert said == "60 60\n"


@pytest.mark.parametrize("command", ["pg.train(epochs=2, **task)", "pg.simulate(epochs=1, workers=4, platform='k40m-fdr', strategy='bmuf', **task)",
                                     "pg.command('evaluate', run.folder / 'checkpoint.h5', data=task['data'])",
                                     "pg.dataset(x, y, out=run.folder / 'x.h5')", "pg.command('data', 'info', task['data'])",
                                     "pg.predict(run, x[:, :20])"])
def test_every_command_ends_with_the_interruption(task, command):
    said = python(f"""
        run = pg.train(epochs=1, **task)
        x, y = np.zeros((20000, 20)), np.arange(20000) % 5
        begun = time.monotonic()
        {command}
        lasted = time.monotonic() - begun
        try:
            after(lasted / 2)
            {command}
            time.sleep(5)  # it was too early or too late
            print("nothing")
        except KeyboardInterrupt:
            print("interrupted")
        """, task)
    assert said == "interrupted\n"


@pytest.mark.parametrize("run", ["pg.train(strategy=strategies.Loops, workers=2, epochs=2, **task)", "pg.train(strategy=strategies.Loops, epochs=2, **task)",
                                 "pg.simulate(strategy=strategies.Loops, workers=2, platform='k40m-fdr', epochs=2, **task)"])
def test_an_endless_loop_in_a_strategy_is_interrupted(task, run):
    said = python(f"""
        sys.path.insert(0, {str(strategies.__file__.rpartition('/')[0])!r})
        import strategies
        after(0.5)
        begun = time.monotonic()
        try:
            {run}
        except KeyboardInterrupt:
            print("interrupted" if time.monotonic() - begun < 10 else "late")
        print(pg.train(epochs=2, **task).weights_sha256)
        """, task)
    assert said.split() == ["interrupted", pg.train(**task | {"epochs": 2}).weights_sha256]


def test_handlers_of_ones_own_act_during_a_training(task):
    said = python("""
        chain = [signal.SIGUSR1, signal.SIGINT, signal.SIGALRM, signal.SIGTERM]
        def handle(number, frame):
            print(signal.Signals(number).name, flush=True)
            if number == chain[-1]:
                raise SystemExit("told to end")
            os.kill(os.getpid(), chain[chain.index(number) + 1])
        for each in chain:
            signal.signal(each, handle)
        after(0.5, chain[0])
        try:
            pg.train(epochs=1000000, **task)
        except SystemExit as error:
            print(error)
        """, task)
    assert said.splitlines() == ["SIGUSR1", "SIGINT", "SIGALRM", "SIGTERM", "told to end"]


def test_a_handler_cannot_run_a_command_within_a_command(task):
    said = python("""
        signal.signal(signal.SIGUSR1, lambda number, frame: pg.command("help"))
        after(0.5, signal.SIGUSR1)
        try:
            pg.train(epochs=1000000, **task)
        except pg.Error as error:
            print(error)
        """, task)
    assert "a signal's handler cannot run commands or predict while a command runs" in said


def test_a_training_in_another_thread_is_interrupted_too(task):
    said = python("""
        ended, is_over = [], threading.Event()
        def run():
            try:
                pg.train(epochs=1000000, **task)
            except KeyboardInterrupt:
                ended.append("thread")
            is_over.set()
        threading.Thread(target=run).start()
        after(0.7)
        try:
            is_over.wait()
        except KeyboardInterrupt:
            ended.append("main")
        is_over.wait()
        print(*sorted(ended))
        """, task)
    assert said == "main thread\n"
