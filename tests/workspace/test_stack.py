"""What a project is built with, read from its files: each with its version and the line that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from projects import SHOP, TOOL, make
from swarmlore.workspace import manifests as by_line
from swarmlore.workspace import manifests as by_table
from swarmlore.workspace.codebase import Listing, list_files
from swarmlore.workspace.manifests import Named, held
from swarmlore.workspace.stack import PACKAGES, Stack, image, package, plain_version, read_stack

ROOT = Path(__file__).parents[2]


def stack_of(folder: Path) -> Stack:
    return read_stack(str(folder), list_files(str(folder)))


def rows(stack: Stack) -> dict[str, tuple[str, str, bool, str]]:
    return {item.name: (item.kind, item.version, item.locked, item.place) for item in stack.technologies}


def test_a_web_service_of_typescript(tmp_path: Path) -> None:
    found = stack_of(make(tmp_path, SHOP))
    assert [(item.name, item.files) for item in found.languages] == [("TypeScript", 4)]
    assert rows(found) == {
        "TypeScript": ("build", "5.4.5", True, "pnpm-lock.yaml:17"),
        "Node.js": ("runtime", "20.11.1", True, ".nvmrc:1"),
        "Fastify": ("framework", "4.26.2", True, "pnpm-lock.yaml:7"),
        "PostgreSQL": ("database", "16.2", True, "docker-compose.yml:3"),
        "Redis": ("database", "7", True, "docker-compose.yml:5"),
        "Vitest": ("tests", "1.4.0", True, "pnpm-lock.yaml:20"),
        "pnpm": ("packages", "9.1.0", True, "package.json:3"),
        "Docker": ("container", "", False, "Dockerfile"),
        "Docker Compose": ("container", "", False, "docker-compose.yml"),
        "GitHub Actions": ("ci", "", False, ".github/workflows/ci.yml"),
    }


def test_a_tool_of_rust(tmp_path: Path) -> None:
    found = rows(stack_of(make(tmp_path, TOOL)))
    assert found["Tokio"] == ("framework", "1.37.0", True, "Cargo.lock:16")
    assert found["Rust"] == ("runtime", "1.74", False, "Cargo.toml:5")
    assert found["proptest"] == ("tests", "1.4.0", True, "Cargo.lock:8")
    assert found["Cargo"][0] == "packages"
    assert found["make"] == ("build", "", False, "Makefile")


def test_this_repository() -> None:
    found = rows(stack_of(ROOT))
    assert found["Python"][:2] == ("runtime", "3.11")
    assert found["pytest"][0] == "tests"
    assert found["PostgreSQL"][0] == "database"
    lines = (ROOT / "pyproject.toml").read_text().split("\n")
    for name in ("pytest", "numpy", "hypothesis"):
        item = next(item for item in stack_of(ROOT).technologies if item.package == name)
        assert name in lines[item.line - 1]


def test_a_driver_is_not_the_version_of_its_server(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("psycopg[binary]>=3.2\n")
    [found] = [item for item in stack_of(tmp_path).technologies if item.kind == "database"]
    assert (found.name, found.version, found.package) == ("PostgreSQL", "", "psycopg 3.2")


MANIFESTS = [
    (by_line.go_mod, "module x\n\ngo 1.22\n\nrequire (\n\tgithub.com/gin-gonic/gin v1.9.1 // indirect\n)\n",
     [Named("Go", "1.22", 3, "runtime"), Named("github.com/gin-gonic/gin", "v1.9.1", 6)]),
    (by_line.gemfile, "source 'x'\ngem 'rails', '~> 7.1'\nruby '3.3.0'\n",
     [Named("rails", "~> 7.1", 2), Named("Ruby", "3.3.0", 3, "runtime")]),
    (by_line.pom, "<project>\n<dependency>\n<artifactId>junit</artifactId>\n<version>4.13</version>\n</dependency>\n"
     "<java.version>21</java.version></project>\n",
     [Named("Java", "21", 6, "runtime"), Named("junit", "4.13", 3)]),
    (by_line.gradle, "plugins {\n id('org.springframework.boot') version '3.2.0'\n}\n"
     "implementation 'com.x:jedis:5.1.0'\n",
     [Named("jedis", "5.1.0", 4), Named("org.springframework.boot", "3.2.0", 2)]),
    (by_line.csproj, '<Project>\n<TargetFramework>net8.0</TargetFramework>\n<PackageReference Include="xunit" Version="2.6" />',
     [Named("xunit", "2.6", 3), Named(".NET", "8.0", 2, "runtime")]),
    (by_line.mix, 'elixir: "~> 1.15",\n {:phoenix, "~> 1.7"},\n',
     [Named("phoenix", "~> 1.7", 2), Named("Elixir", "~> 1.15", 1, "runtime")]),
    (by_line.pubspec, "name: x\ndependencies:\n  http: ^1.1.0\ndev_dependencies:\n  test: any\n",
     [Named("http", "^1.1.0", 3), Named("test", "any", 5)]),
    (by_line.dockerfile, "FROM --platform=linux/amd64 ghcr.io/x/python:3.12-slim@sha256:ab AS base\n",
     [Named("ghcr.io/x/python", "3.12-slim", 1, "image")]),
    (by_line.requirements, "# x\nDjango==5.0.1 ; python_version > '3'\n-r other.txt\n", [Named("django", "==5.0.1", 2)]),
    (by_line.setup_cfg, "[options]\npython_requires = >=3.9\ninstall_requires =\n    flask>=2\n",
     [Named("Python", ">=3.9", 2, "runtime"), Named("flask", ">=2", 4)]),
    (by_line.cmake, "project(x)\nfind_package(GTest 1.14 REQUIRED)\n", [Named("GTest", "1.14", 2)]),
    (by_line.swift, '.package(url: "https://github.com/vapor/vapor.git", from: "4.89.0"),\n', [Named("vapor", "4.89.0", 1)]),
    (by_table.composer_json, '{"require": {"php": ">=8.2",\n "laravel/framework": "^11.0"}}',
     [Named("PHP", ">=8.2", 1, "runtime"), Named("laravel/framework", "^11.0", 2)]),
    (by_table.pipfile, '[packages]\nflask = "*"\n[requires]\npython_version = "3.12"\n',
     [Named("flask", "*", 2), Named("Python", "3.12", 4, "runtime")]),
    (by_table.deno_json, '{"imports": {\n"hono": "npm:hono@4.2.0"}}', [Named("hono", "4.2.0", 2)]),
    (by_table.pyproject, '[tool.poetry.dependencies]\npython = "^3.11"\nfastapi = {version = "^0.110"}\n',
     [Named("Python", "^3.11", 2, "runtime"), Named("fastapi", "^0.110", 3)]),
]  # fmt: skip


@pytest.mark.parametrize(("read", "text", "wanted"), MANIFESTS, ids=lambda value: getattr(value, "__name__", ""))
def test_manifests_name_packages_with_their_lines(read, text, wanted) -> None:
    assert list(read(text)) == wanted


LOCKS = [
    ("package-lock.json", '{\n "node_modules/react": {\n  "version": "18.2.0",', "react", ("18.2.0", 2)),
    ("yarn.lock", '# x\n\nreact@^18.0.0:\n  version "18.2.0"\n', "react", ("18.2.0", 3)),
    ("yarn.lock", '# x\n"react@npm:^18.0.0":\n  version: 18.2.0\n', "react", ("18.2.0", 2)),
    ("bun.lock", '{\n"react": ["react@18.2.0", ""', "react", ("18.2.0", 2)),
    ("pnpm-lock.yaml", "x:\n  /react@18.2.0:\n", "react", ("18.2.0", 2)),
    ("uv.lock", '[[package]]\nname = "django"\nversion = "5.0.4"\n', "django", ("5.0.4", 2)),
    ("Gemfile.lock", "GEM\n  specs:\n    rails (7.1.3.2)\n", "rails", ("7.1.3.2", 3)),
    ("composer.lock", '{\n"name": "laravel/framework",\n"version": "v11.0.3"', "laravel/framework", ("11.0.3", 2)),
    ("Pipfile.lock", '{\n"flask": {\n "version": "==3.0.2"', "flask", ("3.0.2", 2)),
    ("mix.lock", '%{\n  "phoenix": {:hex, :phoenix, "1.7.11",', "phoenix", ("1.7.11", 2)),
    ("pubspec.lock", 'packages:\n  http:\n    dependency: x\n    version: "1.2.1"\n', "http", ("1.2.1", 2)),
    ("Cargo.lock", '[[package]]\nname = "tokio-util"\nversion = "0.7"\n', "tokio", ("", 0)),
]


@pytest.mark.parametrize(("lock", "text", "name", "wanted"), LOCKS)
def test_lock_files_hold_versions(lock: str, text: str, name: str, wanted: tuple[str, int]) -> None:
    assert held(text, name, lock) == wanted


@pytest.mark.parametrize(
    "name", ["package.json", "pyproject.toml", "Cargo.toml", "composer.json", "Pipfile", "pom.xml"]
)
@pytest.mark.parametrize(
    "text", ["{", "[" * 100_000, '{"a":' * 50_000, "\0\xff", '{"dependencies": [1]}', "[project]\ndependencies = 3"]
)
def test_a_broken_manifest_gives_nothing_and_stops_nothing(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert [item for item in stack_of(tmp_path).technologies if item.version] == []


def test_an_entity_bomb_is_not_even_read_as_xml(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">' + "".join(f'<!ENTITY b{n} "&a;&a;">' for n in range(50)) + "]>"
    (tmp_path / "pom.xml").write_text(f"{bomb}\n<artifactId>&a;</artifactId>\n<artifactId>junit</artifactId>")
    assert [item.name for item in stack_of(tmp_path).of("tests")] == ["JUnit"]


def test_a_manifest_behind_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "package.json").write_text('{"dependencies": {"react": "1"}}')
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").symlink_to(tmp_path / "outside" / "package.json")
    listing = Listing(("package.json",), "walk")
    assert read_stack(str(project), listing).technologies == ()


@pytest.mark.parametrize(("said", "wanted"), [("^18.2.0", "18.2.0"), (">=3.11,<4", "3.11"), ("*", ""), ("v1.9.1", "1.9.1"),
                                              ("16.2-alpine", "16.2"), ("latest", ""), ("1.0.0-rc.1", "1.0.0-rc.1")])  # fmt: skip
def test_a_version_is_the_number_in_what_is_asked_for(said: str, wanted: str) -> None:
    assert plain_version(said) == wanted


def test_the_table_knows_each_package_as_one_thing() -> None:
    assert package("@nestjs/core") == ("framework", "NestJS")
    assert package("GitHub.com/gin-gonic/gin") == ("framework", "Gin")
    assert package("left-pad") == ("", "")
    assert image("docker.io/library/postgres") == ("database", "PostgreSQL")
    assert image("oven/bun") == ("runtime", "Bun")
    assert all(name and "=" not in name for _, name in PACKAGES.values())


def test_a_version_that_gradle_names_is_the_one_in_use_and_a_range_is_not(tmp_path: Path) -> None:
    build = (
        "plugins {\n    id 'org.springframework.boot' version '3.2.4'\n}\n"
        "java { toolchain { languageVersion = JavaLanguageVersion.of(21) } }\n"
        "dependencies {\n    testImplementation 'org.junit.jupiter:junit-jupiter:5.+'\n}\n"
    )
    found = rows(stack_of(make(tmp_path, {"build.gradle": build})))
    assert found["Spring Boot"][1:3] == ("3.2.4", True)
    assert found["Java"] == ("runtime", "21", True, "build.gradle:4")
    assert not found["JUnit"][2]


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        (
            ".tool-versions",
            "golang 1.22.1\nterraform 1.7.5 # ours\n",
            {"Go": ("runtime", "1.22.1"), "terraform": ("build", "1.7.5")},
        ),
        ("mise.toml", '[tools]\nnode = "20.11"\n', {"Node.js": ("runtime", "20.11")}),
        ("rust-toolchain.toml", '[toolchain]\nchannel = "1.77.2"\n', {"Rust": ("runtime", "1.77.2")}),
        ("rust-toolchain", "1.70.0\n", {"Rust": ("runtime", "1.70.0")}),
        (
            ".devcontainer/devcontainer.json",
            '{\n "image": "mcr.example/devcontainers/python:1-3.12-bookworm",\n "features": {\n'
            '  "ghcr.io/devcontainers/features/node:1": { "version": "20" }\n }\n}\n',
            {"Python": ("runtime", "3.12"), "Node.js": ("runtime", "20")},
        ),
        (
            ".gitlab-ci.yml",
            "image: golang:1.22\nt:\n  services:\n    - mysql:8.3\n",
            {"Go": ("runtime", "1.22"), "MySQL": ("database", "8.3")},
        ),
        ("Cargo.toml", '[workspace.package]\nrust-version = "1.76"\n', {"Rust": ("runtime", "1.76")}),
        ("Jenkinsfile", "pipeline {}\n", {"Jenkins": ("ci", "")}),
    ],
)
def test_files_that_pin_tools_are_read(
    tmp_path: Path, name: str, text: str, wanted: dict[str, tuple[str, str]]
) -> None:
    found = {one: row[:2] for one, row in rows(stack_of(make(tmp_path, {name: text}))).items()}
    assert {one: found.get(one) for one in wanted} == wanted


def test_a_pinned_version_counts_more_than_the_one_of_a_pipeline(tmp_path: Path) -> None:
    files = {
        ".gitlab-ci.yml": "image: golang:1.20\n",
        ".tool-versions": "golang 1.22.1\n",
        "Dockerfile": "FROM golang:1.21\n",
    }
    assert rows(stack_of(make(tmp_path, files)))["Go"] == ("runtime", "1.22.1", True, ".tool-versions:1")
