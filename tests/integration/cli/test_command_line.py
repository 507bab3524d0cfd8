"""What all commands of `temporal-adapter` have in common: help, options, and errors that say what to mend."""

from __future__ import annotations

from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.converter import PayloadCodec
from typer.testing import CliRunner

from temporal_adapter import BlobStore
from temporal_adapter.cli.app import app
from temporal_adapter.cli.checkpoints import group
from temporal_adapter.cli.options import DEFAULT_CHECKPOINT_STORE
from temporal_adapter.plugin import DEFAULT_CHECKPOINT_STORE as OF_THE_WORKERS
from tests.support import commands
from tests.support.running import serving

from .conftest import Shell

# Makes a package of the extra `cli` one that is not installed.
WITHOUT = """
import sys

sys.modules[{name!r}] = None  # as if it was not installed
from temporal_adapter.cli import main
main()
"""

CODEC = '''
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec


class Flip(PayloadCodec):
    """Hides bytes by flipping them."""

    async def encode(self, payloads):
        return [Payload(metadata={"encoding": b"flipped"}, data=flipped(one.SerializeToString())) for one in payloads]

    async def decode(self, payloads):
        return [Payload.FromString(flipped(one.data)) for one in payloads]


def flipped(data):
    return bytes(byte ^ 255 for byte in data)


codec = Flip()
number = 3


def faulty():
    raise LookupError("no key")
'''


# --- help -----------------------------------------------------------------------------------------------------


def test_help_explains_itself_to_a_newcomer(shell: Shell) -> None:
    ended = shell.run("--help")

    assert (ended.code, ended.err) == (0, "")
    assert "Look after Microsoft Agent Framework workflows that run on Temporal." in ended.out
    assert "checkpoint list" in ended.out
    assert "3  the store or server cannot be reached or read" in ended.out


def test_the_bare_command_shows_help(shell: Shell) -> None:
    ended = shell.run()

    assert (ended.code, ended.out) == (2, "")
    assert "Usage: temporal-adapter" in ended.err


@pytest.mark.parametrize("command", [one.name for one in group.registered_commands])
def test_each_command_names_its_options_and_their_environment(command: str) -> None:
    ended = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["checkpoint", command, "--help"])

    assert ended.exit_code == 0
    for name in [
        "--json",
        "--namespace",
        "--profile",
        "TEMPORAL_ADAPTER_CHECKPOINT_STORE",
        "TEMPORAL_ADAPTER_PAYLOAD_CODEC",
    ]:
        assert name in ended.output


def test_the_default_store_is_the_workers_own() -> None:
    assert DEFAULT_CHECKPOINT_STORE == OF_THE_WORKERS


# --- what a person can mend -------------------------------------------------------------------------------------


def failed(shell: Shell, *arguments: str, **env: str) -> tuple[int, str]:
    """Return the exit code and the one line of an error."""
    ended = shell.run("checkpoint", *arguments, **env)
    assert ended.out == ""
    assert "Traceback" not in ended.err
    return ended.code, ended.err.splitlines()[-1]


def test_a_directory_that_is_not_there_is_told_and_not_made(shell: Shell, tmp_path: Path) -> None:
    code, line = failed(shell, "list", "--checkpoint-store", str(tmp_path / "nowhere"))

    assert code == 3
    assert "no such directory" in line
    assert "--checkpoint-store" in line
    assert not (tmp_path / "nowhere").exists()


def test_a_store_of_an_unknown_kind_is_told(shell: Shell) -> None:
    code, line = failed(shell, "list", "--checkpoint-store", "ftp://somewhere/else")

    assert code == 3
    assert "ftp://somewhere/else cannot be opened" in line


def test_the_memory_of_another_process_cannot_be_read(shell: Shell) -> None:
    code, line = failed(shell, "list", "--checkpoint-store", "memory://name")

    assert code == 2
    assert "memory of another process" in line


def test_an_unknown_profile_is_told(shell: Shell) -> None:
    code, line = failed(shell, "list", "--profile", "nobodys")

    assert code == 3
    assert "'nobodys' not found" in line


def test_a_missing_argument_is_a_wrong_command(shell: Shell) -> None:
    code, line = failed(shell, "show")

    assert (code, line) == (2, "Error: Missing argument 'ID'.")


def test_text_of_a_run_cannot_steer_the_terminal(shell: Shell) -> None:
    code, line = failed(shell, "show", "\x1b[2Jgone")

    assert code == 4
    assert "\x1b" not in line


# --- the payload codec ------------------------------------------------------------------------------------------


@pytest.fixture
def codec(shell: Shell) -> PayloadCodec:
    (shell.folder / "security.py").write_text(CODEC)
    names: dict[str, object] = {}
    exec(CODEC, names)
    return names["codec"]  # type: ignore[return-value]


async def test_an_encrypted_store_is_read_with_its_codec(
    shell: Shell, client: Client, shop: object, task_queue: str, codec: PayloadCodec, tmp_path: Path
) -> None:
    store = BlobStore(tmp_path / "sealed", payload_codec=codec)
    async with serving(client, task_queue, shop.build_order, store=store) as order:  # type: ignore[attr-defined]
        run = await order.start(shop.Order(customer="Eve", amount=1), id=task_queue)  # type: ignore[attr-defined]
        async for event in run.events():
            if event.type == "request_info":
                break
        await run.handle.cancel()
    sealed = ["--checkpoint-store", str(tmp_path / "sealed")]

    listed = shell.json("checkpoint", "list", task_queue, *sealed, "--payload-codec", "security:codec")
    entry = listed["checkpoints"][0]["checkpoint_id"]
    shown = shell.run("checkpoint", "show", entry, *sealed, TEMPORAL_ADAPTER_PAYLOAD_CODEC="security:Flip")
    code, line = failed(shell, "show", entry, *sealed)

    assert '{"customer": "Eve", "amount": 1} (shop:Order)' in shown.out
    assert code == 3
    assert "codec" in line


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("security", "is not of the form package.module:object"),
        ("security:missing", "module 'security' has no 'missing'"),
        ("nowhere:codec", "there is no module 'nowhere'"),
        ("security:number", "is of type int, and neither a temporalio.converter.PayloadCodec nor a function"),
        ("security:faulty", "cannot make its codec: LookupError: no key"),
    ],
)
@pytest.mark.usefixtures("codec")
def test_a_codec_that_is_none_is_told(shell: Shell, name: str, message: str) -> None:
    code, line = failed(shell, "list", "--payload-codec", name)

    assert code == 2
    assert line.startswith("Error: --payload-codec: ")
    assert message in line


# --- without the extra ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["typer", "rich", "deepdiff"])
def test_without_the_extra_it_says_what_to_install(shell: Shell, name: str) -> None:
    ended = commands.run("-c", WITHOUT.format(name=name), cwd=shell.folder, env=shell.env)

    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        f'Error: the command line needs {name}, which is not installed: pip install "agent-framework-temporal[cli]"\n'
    )
