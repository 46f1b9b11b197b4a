"""What the description says is what the server does, tried by a program that makes up requests from it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import fuzzing
from serving import Server

HELD = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
LONG = fuzzing()


@pytest.mark.parametrize(("role", "phases"), [("lead", "examples,coverage"), ("worker", "fuzzing")])
def test_no_request_that_can_be_made_up_breaks_what_is_described(
    steady: Server, tmp_path: Path, role: str, phases: str
) -> None:
    token = steady.token(f"{role}-1", role=role, project=f"git.example/{role}")
    words = ["--exclude-operation-id", "import"]  # it cannot make up lines; tests/server/test_streams.py does
    words += ["--checks", HELD, "--phases", "examples,coverage,fuzzing" if LONG else phases]
    words += ["--max-examples", "150" if LONG else "2", "--generation-database", "none", "--no-color", "--workers", "1"]
    words += ["--header", f"Authorization: Bearer {token}", "--seed", "1"] if not LONG else ["--header", f"Authorization: Bearer {token}"]  # fmt: skip
    run = [str(Path(sys.executable).with_name("schemathesis")), "run", *words]
    told = subprocess.run(
        [*run, f"http://127.0.0.1:{steady.port}/v1/openapi.json"], capture_output=True, text=True, cwd=tmp_path
    )
    assert told.returncode == 0, told.stdout[-6_000:] + told.stderr[-2_000:]
