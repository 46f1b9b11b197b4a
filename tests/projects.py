"""Projects of other stacks, with README, docs, manifests and lock files, and conflicts planted in them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

Files = dict[str, str]

SHOP: Files = {
    "README.md": """# Shop API

[![build](https://ci.example/badge.svg)](https://ci.example)

A small web service that takes orders and charges customers through a payment provider.

## Getting started

You need Node.js 18 and PostgreSQL 14.

```sh
npm install
docker compose up -d
pnpm dev
```

## Conventions

- Never call the payment provider outside of `chargeCustomer`.
- Every migration must be reversible.
""",
    "docs/payments.md": """# Payments

Charges are idempotent: every charge carries an idempotency key made from the order id, so a retry never charges a
customer twice.

## Webhooks

Webhooks from the payment provider are verified by their signature before they are parsed.

The payment webhook listens on port 8080.
""",
    "docs/solutions/patterns/outbox.md": """---
title: "Write events through the outbox table"
created: "2026-03-16"
confidence: high
category: patterns
tags: [typescript, postgresql]
key_insight: "Write the event in the transaction of the order; a relay publishes it"
---
## Problem
Events were lost when the broker was down.
""",
    "package.json": json.dumps(
        {
            "name": "shop",
            "packageManager": "pnpm@9.1.0",
            "engines": {"node": ">=20"},
            "scripts": {"dev": "tsx src/server.ts", "test": "vitest"},
            "dependencies": {"fastify": "^4.26.0", "pg": "^8.11.0", "ioredis": "^5.3.0"},
            "devDependencies": {"typescript": "~5.4.2", "vitest": "^1.4.0"},
        },
        indent=2,
    ),
    "pnpm-lock.yaml": """lockfileVersion: '9.0'

importers:

  .:
    dependencies:
      fastify:
        specifier: ^4.26.0
        version: 4.26.2
      ioredis:
        specifier: ^5.3.0
        version: 5.3.2
      pg:
        specifier: ^8.11.0
        version: 8.11.5
    devDependencies:
      typescript:
        specifier: ~5.4.2
        version: 5.4.5
      vitest:
        specifier: ^1.4.0
        version: 1.4.0(@types/node@20.0.0)
""",
    "tsconfig.json": "{}",
    ".nvmrc": "20.11.1\n",
    "docker-compose.yml": "services:\n  db:\n    image: postgres:16.2-alpine\n  cache:\n    image: redis:7\n",
    "Dockerfile": "FROM node:20-slim\nCOPY . .\n",
    ".github/workflows/ci.yml": "jobs:\n  test:\n    steps:\n      - uses: actions/setup-node@v4\n",
    "src/server.ts": """import Fastify from "fastify";
import { chargeCustomer } from "./payments/charge";

const app = Fastify();

/** Takes an order and charges the customer once. */
export async function placeOrder(orderId: string, cents: number): Promise<string> {
  return chargeCustomer(orderId, cents);
}

app.listen({ port: 3000 });
""",
    "src/payments/charge.ts": """/**
 * Charges a customer once per order: the idempotency key is made from the order id.
 */
export async function chargeCustomer(orderId: string, cents: number): Promise<string> {
  const idempotencyKey = `order-${orderId}`;
  return sendCharge(idempotencyKey, cents);
}

async function sendCharge(key: string, cents: number): Promise<string> {
  return key;
}

// Webhooks are refused unless their signature fits.
export const verifyWebhook = (body: string, signature: string): boolean => body.length > 0 && signature.length > 0;
""",
    "src/db/pool.ts": """export class ConnectionPool {
  /** Opens at most ten connections to PostgreSQL. */
  acquire(): void {}
}
""",
    "src/payments/charge.test.ts": """import { chargeCustomer } from "./charge";
test("a retry does not charge twice", () => chargeCustomer("1", 100));
""",
    "node_modules/fastify/index.js": "module.exports = 'payment webhook signature idempotency';\n",
}

TOOL: Files = {
    "README.md": """Logsift
=======

Logsift reads huge log files and prints the lines that matter, ranked by how unusual they are.

## Install

    cargo install --path .

## Development

Requires Rust 1.70 or newer and tokio 0.2.

* Always run `cargo fmt` before a commit.
""",
    "docs/design.md": """# Design

## Scoring

A line is scored by the rarity of its tokens; the score of a line is the sum over its rare tokens.

## Reading

Files are read in blocks of 64 KB by a pool of workers; blocks are cut at line ends.
""",
    "Cargo.toml": """[package]
name = "logsift"
version = "0.3.0"
edition = "2021"
rust-version = "1.74"

[dependencies]
tokio = { version = "1.36", features = ["full"] }
clap = "4.5"
serde = { version = "1.0", features = ["derive"] }

[dev-dependencies]
proptest = "1.4"
""",
    "Cargo.lock": """version = 3

[[package]]
name = "clap"
version = "4.5.4"

[[package]]
name = "proptest"
version = "1.4.0"

[[package]]
name = "serde"
version = "1.0.198"

[[package]]
name = "tokio"
version = "1.37.0"
""",
    "Makefile": "test:\n\tcargo test\n",
    "src/main.rs": """mod score;
use crate::score::score_line;

/// Reads the file in blocks and prints the most unusual lines.
fn main() {
    println!("{}", score_line("panic: out of memory"));
}
""",
    "src/score.rs": """/// Scores a line by the rarity of its tokens.
pub fn score_line(line: &str) -> f64 {
    line.split_whitespace().map(token_rarity).sum()
}

fn token_rarity(token: &str) -> f64 {
    1.0 / token.len() as f64
}

pub struct BlockReader {
    pub size: usize,
}
""",
    "tests/scoring.rs": "#[test]\nfn rare_tokens_score_high() {}\n",
    "target/debug/build.rs": "fn score_line_generated() {}\n",
}


def make(folder: Path, files: Files, *, git: bool = True, message: str = "Begin") -> Path:
    """Write a project's files; with git they are tracked, except what its builds and packages left."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if git:
        (folder / ".gitignore").write_text("node_modules/\ntarget/\n")
        commit(folder, message)
    return folder


def commit(folder: Path, message: str) -> None:
    """Take everything into git."""
    name = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", *name, "commit", "-q", "-m", message], cwd=folder, check=True)
