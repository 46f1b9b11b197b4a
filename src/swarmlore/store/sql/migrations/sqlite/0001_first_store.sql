-- Rows are the truth. Words, cue_words, vector and shingle are derived from them and can be rebuilt.

CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at REAL NOT NULL
);

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Who can see a row: one partition per project's swarm, per private owner, and one for the hive.
CREATE TABLE partition (
    id INTEGER PRIMARY KEY,
    tier TEXT NOT NULL,
    project TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (tier, project, owner)
);

CREATE TABLE memory (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    handle TEXT NOT NULL UNIQUE,
    partition INTEGER NOT NULL REFERENCES partition (id),
    text TEXT NOT NULL,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    category TEXT NOT NULL,
    tier TEXT NOT NULL,
    project TEXT NOT NULL,
    owner TEXT NOT NULL,
    scope TEXT NOT NULL,
    status TEXT NOT NULL,
    trust INTEGER NOT NULL,
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    session TEXT NOT NULL,
    position INTEGER,
    confidence REAL NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    last_accessed_at REAL,
    access_count INTEGER NOT NULL,
    expires_at REAL,
    valid_from REAL,
    valid_until REAL,
    forgotten_at REAL,
    superseded_by TEXT NOT NULL,
    feedback_score REAL NOT NULL,
    feedback_count INTEGER NOT NULL,
    version INTEGER NOT NULL,
    text_hash TEXT NOT NULL,
    more TEXT NOT NULL,
    stems TEXT NOT NULL DEFAULT ''
);
CREATE INDEX memory_text_hash ON memory (partition, text_hash);
CREATE INDEX memory_newest ON memory (partition);  -- with the row number behind it: newest first per partition
CREATE INDEX memory_key ON memory (partition, key) WHERE key <> '';
CREATE INDEX memory_place ON memory (session, position) WHERE session <> '';
CREATE INDEX memory_counts ON memory (partition, tier, status, kind, category, source, forgotten_at);

CREATE TABLE situation (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_seq INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    via TEXT NOT NULL,
    text TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX situation_memory ON situation (memory_seq);

-- Keys under which near-duplicates and contradictions meet.
CREATE TABLE shingle (
    partition INTEGER NOT NULL,
    shingle INTEGER NOT NULL,
    memory_seq INTEGER NOT NULL,
    PRIMARY KEY (partition, shingle, memory_seq)
) WITHOUT ROWID;

CREATE TABLE entity (
    partition INTEGER NOT NULL,
    entity TEXT NOT NULL,
    memory_seq INTEGER NOT NULL,
    PRIMARY KEY (partition, entity, memory_seq)
) WITHOUT ROWID;
CREATE INDEX entity_memory ON entity (memory_seq);

-- The texts come as stems (text/words.py). `place` holds the partition as a word, so that the index itself can leave
-- out what the caller may not see.
CREATE VIRTUAL TABLE words USING fts5 (
    title, body, tags, place,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
);
CREATE VIRTUAL TABLE words_vocab USING fts5vocab (words, 'row');
CREATE VIRTUAL TABLE cue_words USING fts5 (
    body, place,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
);

-- One row per embedded text: the memory itself (situation_seq 0) or one of its situations.
-- `change` grows with every insert and every turn of `live`, so that caches can catch up.
CREATE TABLE vector (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_seq INTEGER NOT NULL,
    situation_seq INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    live INTEGER NOT NULL,
    change INTEGER NOT NULL,
    provider TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    data BLOB NOT NULL,
    piece_ids BLOB NOT NULL,
    UNIQUE (memory_seq, situation_seq)
);
CREATE INDEX vector_change ON vector (change);

-- The word pieces of an embedded memory, for late interaction. Apart, because they are read for a few rows only.
CREATE TABLE piece (
    memory_seq INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    data BLOB NOT NULL
);

-- Texts that wait for a vector, or whose vector waits to be compared.
CREATE TABLE pending (
    memory_seq INTEGER NOT NULL,
    situation_seq INTEGER NOT NULL,
    work TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (work, memory_seq, situation_seq)
) WITHOUT ROWID;

CREATE TABLE link (
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    kind TEXT NOT NULL,
    at REAL NOT NULL,
    strength REAL NOT NULL,
    operation TEXT NOT NULL,
    PRIMARY KEY (source, target, kind)
) WITHOUT ROWID;
CREATE INDEX link_target ON link (target);

CREATE TABLE operation (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    verb TEXT NOT NULL,
    by TEXT NOT NULL,
    project TEXT NOT NULL,
    reason TEXT NOT NULL,
    undoes TEXT NOT NULL,
    undone_by TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX operation_by ON operation (by, at);

-- `before` is the whole former record; what came after is the next row's `before` or the memory itself.
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    operation TEXT NOT NULL,
    memory TEXT NOT NULL,
    partition INTEGER NOT NULL,
    action TEXT NOT NULL,
    reason TEXT NOT NULL,
    version INTEGER NOT NULL,
    before TEXT
);
CREATE INDEX audit_memory ON audit (memory);
CREATE INDEX audit_operation ON audit (operation);

CREATE TABLE rejection (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    partition INTEGER NOT NULL,
    text TEXT NOT NULL,
    reason TEXT NOT NULL,
    layer INTEGER NOT NULL,
    at REAL NOT NULL
);

CREATE TABLE session (
    id TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    client TEXT NOT NULL,
    cwd TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL,
    extra TEXT NOT NULL,
    PRIMARY KEY (project, agent, id)
) WITHOUT ROWID;

CREATE TABLE receipt (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    at REAL NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    trigger TEXT NOT NULL,
    cue TEXT NOT NULL,
    chars INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    reason TEXT NOT NULL,
    headroom REAL
);
CREATE INDEX receipt_session ON receipt (project, session);

CREATE TABLE receipt_item (
    receipt_seq INTEGER NOT NULL REFERENCES receipt (seq) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    memory TEXT NOT NULL,
    handle TEXT NOT NULL,
    score REAL NOT NULL,
    cut INTEGER NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (receipt_seq, place)
) WITHOUT ROWID;
CREATE INDEX receipt_item_memory ON receipt_item (memory);
