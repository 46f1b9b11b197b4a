CREATE INDEX answered_at ON answered (at);
CREATE INDEX approval_open ON approval (project, at) WHERE state <> 'done';
CREATE INDEX audit_memory ON audit (memory);
CREATE INDEX audit_operation ON audit (operation);
CREATE INDEX community_number ON community (partition, number);
CREATE INDEX effect_at ON effect (at);
CREATE INDEX embedding_change ON embedding (change);
CREATE INDEX entity_memory ON entity (memory_seq);
CREATE INDEX event_seen_at ON event_seen (at);
CREATE INDEX job_ended ON job (state, ended_at) WHERE state IN ('done', 'dead');
CREATE UNIQUE INDEX job_key ON job (project, agent, key) WHERE key <> '';
CREATE INDEX job_open ON job (seq) WHERE state IN ('waiting', 'running');
CREATE INDEX job_running ON job (lease_until) WHERE state = 'running';
CREATE INDEX link_target ON link (target);
CREATE INDEX memory_key ON memory (partition, key) WHERE key <> '';
CREATE INDEX memory_newest ON memory (partition);
CREATE INDEX memory_order ON memory (partition, created_at, id);
CREATE INDEX memory_place ON memory (session, position) WHERE session <> '';
CREATE INDEX mention_memory ON mention (memory_seq);
CREATE INDEX message_sender ON message (project, sender, seq);
CREATE INDEX operation_by ON operation (by, at);
CREATE INDEX outcome_session ON outcome (project, session);
CREATE INDEX phase_ended ON phase (ended);
CREATE INDEX phase_project ON phase (project, ended);
CREATE INDEX project_alias_project ON project_alias (project);
CREATE INDEX proposal_approval ON proposal (approval) WHERE approval <> '';
CREATE INDEX proposal_reflection ON proposal (reflection);
CREATE INDEX proposal_state ON proposal (project, state, seq);
CREATE INDEX receipt_item_memory ON receipt_item (memory);
CREATE INDEX receipt_session ON receipt (project, session);
CREATE INDEX recipient_agent ON recipient (project, agent, message);
CREATE INDEX reflection_session ON reflection (project, session);
CREATE INDEX relation_memory ON relation (memory_seq);
CREATE INDEX relation_target ON relation (partition, target);
CREATE INDEX situation_memory ON situation (memory_seq);
CREATE TABLE agent (
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    program TEXT NOT NULL,
    model TEXT NOT NULL,
    task TEXT NOT NULL,
    registered_at REAL NOT NULL,
    active_at REAL NOT NULL,
    PRIMARY KEY (project, name)
) WITHOUT ROWID;
CREATE TABLE answered (
    token TEXT NOT NULL,
    name TEXT NOT NULL,
    asked TEXT NOT NULL,
    answer TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (token, name)
) WITHOUT ROWID;
CREATE TABLE approval (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    at REAL NOT NULL,
    state TEXT NOT NULL,
    more TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE arrived (
    memory_seq INTEGER PRIMARY KEY REFERENCES memory (seq) ON DELETE CASCADE
);
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
CREATE TABLE community (
    partition INTEGER NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (partition, name)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE cue_words USING fts5 (
    body, place,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
);
CREATE TABLE 'cue_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE 'cue_words_data'(id INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE 'cue_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);
CREATE TABLE 'cue_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE effect (
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    key TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (project, agent, key)
) WITHOUT ROWID;
CREATE TABLE "embedding" (
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
CREATE TABLE entity (
    partition INTEGER NOT NULL,
    entity TEXT NOT NULL,
    memory_seq INTEGER NOT NULL,
    PRIMARY KEY (partition, entity, memory_seq)
) WITHOUT ROWID;
CREATE TABLE event_seen (
    id TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (id, project, agent)
) WITHOUT ROWID;
CREATE TABLE import_state (
    source TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    position INTEGER NOT NULL,
    line INTEGER NOT NULL,
    counts TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE job (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    role TEXT NOT NULL,
    trust INTEGER NOT NULL,
    folder TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    queued_at REAL NOT NULL,
    not_before REAL NOT NULL,
    since REAL NOT NULL,
    ended_at REAL,
    owner TEXT NOT NULL DEFAULT '',
    fence INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0,
    again INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT ''
);
CREATE TABLE ledger (
    place TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    seen INTEGER NOT NULL,
    stamp TEXT NOT NULL,
    problem TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE ledger_line (
    place TEXT NOT NULL,
    project TEXT NOT NULL,
    memory TEXT NOT NULL,
    hash TEXT NOT NULL,
    born_at REAL NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (place, memory)
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
    more TEXT NOT NULL,
    stems TEXT NOT NULL DEFAULT ''
, renewed_in INTEGER NOT NULL DEFAULT 0);
CREATE TABLE mention (
    partition INTEGER NOT NULL,
    name TEXT NOT NULL,
    memory_seq INTEGER NOT NULL,
    said TEXT NOT NULL,
    type TEXT NOT NULL,
    about TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (partition, name, memory_seq)
) WITHOUT ROWID;
CREATE TABLE message (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    sender TEXT NOT NULL,
    addressed TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    thread TEXT NOT NULL,
    importance TEXT NOT NULL,
    ack_required INTEGER NOT NULL,
    sent_at REAL NOT NULL,
    UNIQUE (id, sender)
);
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at REAL NOT NULL
);
CREATE TABLE operation (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    verb TEXT NOT NULL,
    by TEXT NOT NULL,
    project TEXT NOT NULL,
    reason TEXT NOT NULL,
    undoes TEXT NOT NULL,
    undone_by TEXT NOT NULL
, job TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE TABLE outcome (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    at REAL NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    task TEXT NOT NULL,
    success INTEGER NOT NULL,
    score REAL NOT NULL,
    verdict TEXT NOT NULL,
    more TEXT NOT NULL
);
CREATE TABLE partition (
    id INTEGER PRIMARY KEY,
    tier TEXT NOT NULL,
    project TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (tier, project, owner)
);
CREATE TABLE pending (
    memory_seq INTEGER NOT NULL,
    situation_seq INTEGER NOT NULL,
    work TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (work, memory_seq, situation_seq)
) WITHOUT ROWID;
CREATE TABLE phase (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    started_at REAL NOT NULL,
    completed_at REAL,
    ended INTEGER NOT NULL DEFAULT 0,
    note TEXT NOT NULL DEFAULT '',
    by TEXT NOT NULL
);
CREATE TABLE piece (
    memory_seq INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE project_alias (
    alias TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE proposal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    reflection TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    numbering INTEGER NOT NULL,
    label TEXT NOT NULL,
    route TEXT NOT NULL,
    level TEXT NOT NULL,
    state TEXT NOT NULL,
    approval TEXT NOT NULL DEFAULT '',
    more TEXT NOT NULL
);
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
CREATE TABLE recipient (
    message TEXT NOT NULL,
    project TEXT NOT NULL,
    sender TEXT NOT NULL,
    agent TEXT NOT NULL,
    read_at REAL,
    acked_at REAL,
    PRIMARY KEY (message, agent),
    FOREIGN KEY (message, sender) REFERENCES message (id, sender) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE reflection (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    client TEXT NOT NULL,
    at REAL NOT NULL,
    source TEXT NOT NULL,
    more TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE rejection (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    partition INTEGER NOT NULL,
    text TEXT NOT NULL,
    reason TEXT NOT NULL,
    layer INTEGER NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE relation (
    partition INTEGER NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    kind TEXT NOT NULL,
    memory_seq INTEGER NOT NULL,
    about TEXT NOT NULL,
    strength REAL NOT NULL,
    PRIMARY KEY (partition, source, target, kind, memory_seq)
) WITHOUT ROWID;
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
CREATE TABLE shingle (
    partition INTEGER NOT NULL,
    shingle INTEGER NOT NULL,
    memory_seq INTEGER NOT NULL,
    PRIMARY KEY (partition, shingle, memory_seq)
) WITHOUT ROWID;
CREATE TABLE situation (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_seq INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    via TEXT NOT NULL,
    text TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE sqlite_sequence(name,seq);
CREATE TABLE tally (
    partition INTEGER NOT NULL,
    tier TEXT NOT NULL,
    status TEXT NOT NULL,
    kind TEXT NOT NULL,
    category TEXT NOT NULL,
    source TEXT NOT NULL,
    rows INTEGER NOT NULL,
    hidden INTEGER NOT NULL,
    PRIMARY KEY (partition, tier, status, kind, category, source)
) WITHOUT ROWID;
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    mark TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    role TEXT NOT NULL,
    folder TEXT NOT NULL,
    created_at REAL NOT NULL,
    created_by TEXT NOT NULL,
    expires_at REAL,
    used_at REAL,
    revoked_at REAL
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (
    title, body, tags, place,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
);
CREATE TABLE 'words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE 'words_data'(id INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE 'words_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);
CREATE TABLE 'words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words_vocab USING fts5vocab (words, 'row');
CREATE TABLE worker (
    id TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started_at REAL NOT NULL,
    seen_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER tally_came AFTER INSERT ON memory BEGIN
    INSERT INTO tally (partition, tier, status, kind, category, source, rows, hidden)
    VALUES (new.partition, new.tier, new.status, new.kind, new.category, new.source, 1, new.forgotten_at IS NOT NULL)
    ON CONFLICT DO UPDATE SET rows = rows + 1, hidden = hidden + excluded.hidden;
END;
CREATE TRIGGER tally_changed
AFTER UPDATE OF partition, tier, status, kind, category, source, forgotten_at ON memory
WHEN (old.partition, old.tier, old.status, old.kind, old.category, old.source, old.forgotten_at IS NULL)
    <> (new.partition, new.tier, new.status, new.kind, new.category, new.source, new.forgotten_at IS NULL)
BEGIN
    UPDATE tally SET rows = rows - 1, hidden = hidden - (old.forgotten_at IS NOT NULL)
    WHERE partition = old.partition AND tier = old.tier AND status = old.status AND kind = old.kind
        AND category = old.category AND source = old.source;
    INSERT INTO tally (partition, tier, status, kind, category, source, rows, hidden)
    VALUES (new.partition, new.tier, new.status, new.kind, new.category, new.source, 1, new.forgotten_at IS NOT NULL)
    ON CONFLICT DO UPDATE SET rows = rows + 1, hidden = hidden + excluded.hidden;
END;
CREATE TRIGGER tally_went AFTER DELETE ON memory BEGIN
    UPDATE tally SET rows = rows - 1, hidden = hidden - (old.forgotten_at IS NOT NULL)
    WHERE partition = old.partition AND tier = old.tier AND status = old.status AND kind = old.kind
        AND category = old.category AND source = old.source;
END;
