"""Set up and open a team's store on PostgreSQL. A privileged role creates or migrates it; a role without ownership uses
it."""

from __future__ import annotations

from swarmlore.errors import StoreError, StoreTooNew
from swarmlore.store.database import migrate, newest
from swarmlore.store.postgres import ROLE, SCHEMA, PostgresEngine

_FOUNDATION = f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}; CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;"

# A login that may not create roles works as itself; row-level security is forced on owners, too.
_APP_ROLE = f"""
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN
        CREATE ROLE {ROLE} NOLOGIN;
    END IF;
    IF NOT pg_has_role(current_user, '{ROLE}', 'SET') THEN
        EXECUTE 'GRANT {ROLE} TO ' || quote_ident(current_user);
    END IF;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    NULL;
END $$;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN
        GRANT USAGE ON SCHEMA {SCHEMA} TO {ROLE};
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA} TO {ROLE};
        REVOKE INSERT, UPDATE, DELETE ON {SCHEMA}.migration FROM {ROLE};
        REVOKE INSERT, DELETE ON {SCHEMA}.clock FROM {ROLE};
        IF current_setting('server_version_num')::INT >= 170000 THEN
            EXECUTE 'GRANT MAINTAIN ON ALL TABLES IN SCHEMA {SCHEMA} TO {ROLE}';
        END IF;
    END IF;
END $$;
"""


def reach(url: str, now: float, lock_timeout_s: float) -> PostgresEngine:
    """Connect to a server's store and return its engine; set it up or migrate it first if its schema is older."""
    engine = PostgresEngine(url, lock_timeout_s=lock_timeout_s)
    try:
        version = engine.version()
        if version == newest(engine.name):
            return engine
        if version > newest(engine.name):
            known = newest(engine.name)
            raise StoreTooNew(
                f"{engine.path} has schema {version}, this program knows up to {known}; nothing was changed",
                "update the program: pip install -U swarmlore",
            )
    except BaseException:
        engine.close()
        raise
    engine.close()  # its connections may have been made before the role existed
    set_up(url, now)
    return PostgresEngine(url, lock_timeout_s=lock_timeout_s)


def set_up(url: str, now: float) -> None:
    """Create or migrate the schema, as the role in the address."""
    engine = PostgresEngine(url, owner=True)
    try:
        with engine.writing():
            if not engine.version():
                engine.script(_FOUNDATION)
        migrate(engine, "", now)
        with engine.writing():
            engine.script(_APP_ROLE)
    except StoreError as error:
        raise StoreError(
            error.message, f"an administrator has to open it once, then: GRANT {ROLE} TO the roles of the team"
        ) from error
    finally:
        engine.close()
