-- What memories mention, by canonical names; `weight` is less than 1 where only rules saw it. Derived from the rows, as full text is, and rebuilt by `reindex`.
CREATE TABLE mention (
    partition BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    memory_seq BIGINT NOT NULL,
    said TEXT NOT NULL,
    type TEXT NOT NULL,
    about TEXT NOT NULL,
    weight DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (partition, name, memory_seq)
);
CREATE INDEX mention_memory ON mention (memory_seq);

-- How one entity stands to another, as a memory tells it.
CREATE TABLE relation (
    partition BIGINT NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    memory_seq BIGINT NOT NULL,
    about TEXT NOT NULL,
    strength DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (partition, source, target, kind, memory_seq)
);
CREATE INDEX relation_target ON relation (partition, target);
CREATE INDEX relation_memory ON relation (memory_seq);

-- Which entities belong together, by a number. Each partition has communities of its own, so that what is private
-- shapes nothing that others see.
CREATE TABLE community (
    partition BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (partition, name)
);
CREATE INDEX community_number ON community (partition, number);

DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['mention', 'relation', 'community']
    LOOP
        EXECUTE format('CREATE POLICY sight ON %I USING (partition = ANY ((SELECT seen())::BIGINT[]))', name);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    END LOOP;
END $$;

INSERT INTO meta (name, value) SELECT 'reindex', 'memories are connected by what they mention now'
WHERE EXISTS (SELECT 1 FROM memory)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;
