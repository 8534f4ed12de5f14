"""Slurm on this machine alone, in a temporary folder: for tests of job files. Needs root, and the package slurm-wlm."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/node
TmpFS={folder}/node
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=1
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
NodeName={host} CPUs={cores} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def what_is_missing() -> str:
    """Empty, where Slurm can be started."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"Slurm is not installed (no {', '.join(missing)})"
    return "" if os.geteuid() == 0 else "Slurm's daemons are started by root alone"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


class OneNodeSlurm:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        host = socket.gethostname().split(".")[0]
        for name in ("controller", "node"):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o755)
        (folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, folder=folder, cores=os.cpu_count(), controller_port=free_port(), node_port=free_port()))
        (folder / "munge.key").touch(mode=0o600)
        (folder / "munge.key").write_bytes(os.urandom(128))
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self) -> "OneNodeSlurm":
        self.run("munged", "--force", *(f"--{option}={self.folder}/{file}" for option, file in (
            ("key-file", "munge.key"), ("socket", "munge.socket"), ("pid-file", "munged.pid"), ("log-file", "munged.log"),
            ("seed-file", "munged.seed"))))
        self.run("slurmctld")
        self.run("slurmd")
        self.wait_for(lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T"), "an idle node")
        return self

    def __exit__(self, *_: object) -> None:
        for name in ("slurmd", "slurmctld", "munged"):
            try:
                os.kill(int((self.folder / f"{name}.pid").read_text()), signal.SIGTERM)
            except (OSError, ValueError):
                pass  # it never came up
        left = [self.folder / f"{name}.pid" for name in ("slurmd", "slurmctld")]
        self.wait_for(lambda: not any(path.exists() for path in left), "the daemons' end")

    def run(self, *command: object, cwd: Path | None = None) -> str:
        done = subprocess.run([str(part) for part in command], env=self.environment, cwd=cwd, capture_output=True, text=True,
                              timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def submit(self, job: Path) -> str:
        return self.run("sbatch", "--parsable", job.name, cwd=job.parent).strip().split(";")[0]

    def tell(self, job: str) -> dict[str, str]:
        """What scontrol says of it: JobState, Restarts, ExitCode, …"""
        words = self.run("scontrol", "--oneliner", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def signal_batch_shell(self, job: str, number: int) -> None:
        """As Slurm does before the time limit; scancel may repeat it for a minute if the job reacts at once."""
        script = f"job{int(self.tell(job)['JobId']):05}/slurm_script"
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cmdline").read_text().rstrip("\0").endswith(script):
                    os.kill(int(process.name), number)
            except OSError:
                pass  # it has ended meanwhile

    def start_again(self, job: str) -> None:
        """Soon: Slurm lets a requeued job wait for two minutes, and a node refuses it in the second in which it was stopped."""
        self.wait_for(lambda: self.tell(job)["JobState"] == "PENDING", "the job to be back in the queue")
        self.run("scontrol", "update", f"JobId={job}", "StartTime=now+3")
        self.wait_for(lambda: self.tell(job)["JobState"] != "PENDING", "the job to start again")

    def end_of(self, job: str) -> dict[str, str]:
        self.wait_for(lambda: self.tell(job)["JobState"] not in ("PENDING", "RUNNING", "COMPLETING"), "the job's end")
        return self.tell(job)

    def wait_for(self, is_so, what: str, seconds: float = 60) -> None:
        limit = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > limit:
                logs = "".join((self.folder / name).read_text()[-2000:] for name in ("slurmctld.log", "slurmd.log"))
                raise AssertionError(f"waited {seconds} s for {what}\n{logs}")
            time.sleep(0.05)
