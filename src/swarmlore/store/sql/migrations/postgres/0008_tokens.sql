-- Who may ask a server, as whom. Of a token only a mark is kept, from which it cannot be found.
CREATE TABLE token (
    id TEXT COLLATE "C" PRIMARY KEY,
    mark TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    role TEXT NOT NULL,
    folder TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    created_by TEXT NOT NULL,
    expires_at DOUBLE PRECISION,
    used_at DOUBLE PRECISION,
    revoked_at DOUBLE PRECISION,
    login TEXT NOT NULL DEFAULT session_user
);

-- What was answered to a request that its sender named: asked again, because the answer was lost on the way, it is
-- answered the same, and nothing is done twice.
CREATE TABLE answered (
    token TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    asked TEXT NOT NULL,
    answer TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    login TEXT NOT NULL DEFAULT session_user,
    PRIMARY KEY (token, name)
);
CREATE INDEX answered_at ON answered (at);

-- Servers that log in with the same role take the same tokens; nobody else can make one for them.
CREATE POLICY sight ON token USING (login = session_user::TEXT) WITH CHECK (login = session_user::TEXT);
ALTER TABLE token ENABLE ROW LEVEL SECURITY;
ALTER TABLE token FORCE ROW LEVEL SECURITY;
CREATE POLICY sight ON answered USING (login = session_user::TEXT) WITH CHECK (login = session_user::TEXT);
ALTER TABLE answered ENABLE ROW LEVEL SECURITY;
ALTER TABLE answered FORCE ROW LEVEL SECURITY;
