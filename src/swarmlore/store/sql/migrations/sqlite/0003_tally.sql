-- How many memories there are of each sort, kept as they come and go: counting 100,000 rows anew for each `stats` takes
-- longer than the rest of the command, and an index for it costs each write more than these triggers do.
DROP INDEX memory_counts;
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

INSERT INTO tally (partition, tier, status, kind, category, source, rows, hidden)
SELECT partition, tier, status, kind, category, source, count(*), count(forgotten_at)
FROM memory GROUP BY partition, tier, status, kind, category, source;

CREATE TRIGGER tally_came AFTER INSERT ON memory BEGIN
    INSERT INTO tally (partition, tier, status, kind, category, source, rows, hidden)
    VALUES (new.partition, new.tier, new.status, new.kind, new.category, new.source, 1, new.forgotten_at IS NOT NULL)
    ON CONFLICT DO UPDATE SET rows = rows + 1, hidden = hidden + excluded.hidden;
END;

CREATE TRIGGER tally_went AFTER DELETE ON memory BEGIN
    UPDATE tally SET rows = rows - 1, hidden = hidden - (old.forgotten_at IS NOT NULL)
    WHERE partition = old.partition AND tier = old.tier AND status = old.status AND kind = old.kind
        AND category = old.category AND source = old.source;
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
