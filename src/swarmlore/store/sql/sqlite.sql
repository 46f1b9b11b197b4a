-- Statements in the dialect of SQLite.

-- name: index_words
INSERT INTO words (rowid, title, body, tags, place) VALUES (:seq, :title, :body, :tags, :place)

-- name: unindex_words
DELETE FROM words WHERE rowid IN (:list:seqs)

-- name: index_cue
INSERT INTO cue_words (rowid, body, place) VALUES (:seq, :body, :place)

-- name: unindex_cue
DELETE FROM cue_words WHERE rowid IN (:list:seqs)

-- Order by the function bm25, not by the column `rank`, which sorts all rows with their positions (a third slower).
-- name: search_words
SELECT rowid FROM words WHERE words MATCH :match ORDER BY bm25(words, 1.0, 1.0, 1.0, 0.0) LIMIT :limit

-- name: search_cues
SELECT situation.memory_seq FROM (
    SELECT rowid AS cue, bm25(cue_words, 1.0, 0.0) AS fit FROM cue_words
    WHERE cue_words MATCH :match ORDER BY fit LIMIT :limit
) JOIN situation ON situation.seq = cue ORDER BY fit

-- name: add_shingles
INSERT OR IGNORE INTO shingle (partition, shingle, memory_seq)
SELECT :partition, asked.value, :memory_seq FROM json_each(:shingles) AS asked

-- name: memories_of_shingles
SELECT (
    SELECT group_concat(memory_seq) FROM (
        SELECT memory_seq FROM shingle WHERE partition = :partition AND shingle = asked.value
        ORDER BY memory_seq DESC LIMIT :look
    )
) FROM json_each(:shingles) AS asked

-- name: document_frequency
SELECT term, doc FROM words_vocab WHERE term IN (:list:terms)

-- name: count_matches
SELECT count(*) FROM words WHERE words MATCH :match

-- name: count_place
SELECT count(*) FROM words WHERE words MATCH :match

-- name: count_live
SELECT count(*) FROM words

-- name: ids_of_source
SELECT id FROM memory WHERE partition IN (:list:partitions) AND (forgotten_at IS NULL OR :hidden = 1) AND (
    source = :source OR EXISTS (SELECT 1 FROM json_each(more, '$.source_ref') WHERE json_each.value = :source)
)

-- name: ids_derived_from
SELECT id FROM memory WHERE partition IN (:list:partitions) AND (forgotten_at IS NULL OR :hidden = 1) AND EXISTS (
    SELECT 1 FROM json_each(more, '$.source_ref.derived_from') WHERE json_each.value IN (:list:ids)
)

-- Empty a damaged index at once; deleting row by row would read it.
-- name: clear_words
INSERT INTO words (words) VALUES ('delete-all')

-- name: clear_cue_words
INSERT INTO cue_words (cue_words) VALUES ('delete-all')

-- name: unindex_words_between
DELETE FROM words WHERE rowid > :after AND rowid <= :upto

-- name: unindex_cues_between
DELETE FROM cue_words WHERE rowid > :after AND rowid <= :upto

-- name: list_memories
SELECT seq FROM memory INDEXED BY memory_newest
WHERE partition = :partition
  AND (:kind = '' OR kind = :kind)
  AND (:category = '' OR category = :category)
  AND (:any_source = 1 OR source IN (:list:sources))
  AND (:without = '' OR source <> :without)
  AND (:session = '' OR session = :session)
  AND (:owner = '' OR owner = :owner)
  AND CASE :path WHEN '' THEN TRUE ELSE json_extract(more, '$.source_ref.path') = :path END
  AND CASE :status
        WHEN '' THEN status IN ('candidate', 'established', 'promoted') AND forgotten_at IS NULL
        WHEN 'any' THEN TRUE
        WHEN 'forgotten' THEN forgotten_at IS NOT NULL
        ELSE status = :status AND forgotten_at IS NULL
      END
  AND seq < :below
ORDER BY seq DESC LIMIT :limit

-- name: add_embedding
INSERT INTO embedding (memory_seq, situation_seq, partition, live, change, provider, dimension, data, piece_ids)
VALUES (
    :memory_seq, :situation_seq, :partition, :live, 1 + max(
        (SELECT coalesce(max(change), 0) FROM embedding),
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'last_change'), 0)
    ), :provider, :dimension, :data, :piece_ids
)

-- Each row gets its own change number, as caches read rows in pages that may end anywhere.
-- name: turn_embeddings
UPDATE embedding SET
    live = :live, partition = :partition, change = turned.place + max(
        (SELECT coalesce(max(change), 0) FROM embedding),
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'last_change'), 0)
    )
FROM (
    SELECT seq, row_number() OVER (ORDER BY seq) AS place FROM embedding
    WHERE memory_seq IN (:list:seqs) AND (live <> :live OR partition <> :partition)
) AS turned
WHERE embedding.seq = turned.seq

-- name: vectors_since
SELECT memory_seq, situation_seq, partition, live, change, data, piece_ids FROM embedding
WHERE change > :change AND provider = :provider ORDER BY change LIMIT :limit

-- name: vectors_in_order
SELECT memory_seq, situation_seq, partition, live, data, piece_ids FROM embedding
WHERE (memory_seq, situation_seq) > (:memory, :cue) AND provider = :provider AND dimension = :dimension
ORDER BY memory_seq, situation_seq LIMIT :limit

-- name: count_vectors
SELECT count(*) FROM embedding WHERE provider = :provider

-- Count the vectors of all providers, reading only the smallest index.
-- name: count_all_vectors
SELECT count(*) FROM embedding

-- name: count_changed
SELECT count(*) FROM (SELECT 1 FROM embedding WHERE change > :change LIMIT :most)

-- name: last_change
SELECT max(
    (SELECT coalesce(max(change), 0) FROM embedding),
    coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'last_change'), 0)
)

-- name: newest_vector
SELECT provider, dimension FROM embedding ORDER BY seq DESC LIMIT 1

-- name: vectors_of
SELECT situation_seq FROM embedding WHERE memory_seq = :memory_seq

-- name: vector_keys
SELECT memory_seq, situation_seq FROM embedding WHERE provider = :provider

-- name: embeddings_of
SELECT memory_seq, situation_seq, provider, dimension, data, piece_ids FROM embedding
WHERE memory_seq IN (:list:seqs) ORDER BY memory_seq, situation_seq

-- name: count_by
SELECT tier, status, kind, category, source, rows, hidden
FROM tally WHERE partition IN (:list:partitions) AND rows > 0

-- name: shared_shingles
SELECT shingle, group_concat(memory_seq) FROM shingle WHERE partition = :partition AND shingle > :after
GROUP BY shingle HAVING count(*) BETWEEN 2 AND :most ORDER BY shingle LIMIT :limit

-- Lessons not renewed within their number of phases, which is that of a todo, the row's own, or the usual one.
-- `thresholds` gives by number of phases the completion after which a row must have been renewed, if there were enough.

-- name: aged_memories
SELECT seq, renewed_in, confidence FROM memory
WHERE partition IN (:list:partitions) AND forgotten_at IS NULL AND status IN ('candidate', 'established')
  AND NOT source IN (:list:raw)
  AND renewed_in < json_extract(:thresholds, '$[' || CASE
        WHEN category = 'todo' THEN :todo
        WHEN more LIKE '%"max_phases":%' THEN coalesce(json_extract(more, '$.max_phases'), :usual)
        ELSE :usual
      END || ']')
ORDER BY seq

-- name: strategies_told
SELECT DISTINCT json_extract(more, '$.strategy') FROM outcome
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1)

-- name: erase_strategy
UPDATE outcome SET more = json_set(more, '$.strategy', '')
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) AND json_extract(more, '$.strategy') = :strategy

-- name: count_shown
UPDATE memory SET more = json_set(more, '$.outcomes.shown', coalesce(json_extract(more, '$.outcomes.shown'), 0) + 1)
WHERE id IN (:list:ids)

-- name: claim_job
UPDATE job SET state = 'running', attempts = attempts + 1, fence = fence + 1, owner = :owner, lease_until = :until,
    since = :now
WHERE seq = (
    SELECT seq FROM job WHERE state IN ('waiting', 'running') AND kind IN (:list:kinds) AND (
        (state = 'waiting' AND (not_before <= :now OR not_before > :now + 2 * (not_before - since)))
        OR (state = 'running' AND attempts < :most
            AND (lease_until <= :now OR lease_until > :now + 2 * (lease_until - since)))
    ) ORDER BY seq LIMIT 1
)
RETURNING id, kind, body, key, project, agent, role, trust, folder, state, attempts, queued_at, error, owner, fence

-- name: wake_workers
SELECT 1
