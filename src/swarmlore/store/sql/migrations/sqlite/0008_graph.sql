-- What memories mention, by canonical names; `weight` is less than 1 where only rules saw it. Derived from the rows, as full text is, and rebuilt by `reindex`.
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
CREATE INDEX mention_memory ON mention (memory_seq);

-- How one entity stands to another, as a memory tells it.
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
CREATE INDEX relation_target ON relation (partition, target);
CREATE INDEX relation_memory ON relation (memory_seq);

-- Which entities belong together, by a number. Each partition has communities of its own, so that what is private
-- shapes nothing that others see.
CREATE TABLE community (
    partition INTEGER NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (partition, name)
) WITHOUT ROWID;
CREATE INDEX community_number ON community (partition, number);

INSERT INTO meta (name, value) SELECT 'reindex', 'memories are connected by what they mention now'
WHERE EXISTS (SELECT 1 FROM memory)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;
