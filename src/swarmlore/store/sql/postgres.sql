-- Statements in the dialect of PostgreSQL.

-- name: index_words
WITH words AS (
    SELECT left(term, 200) AS term, count(*) OVER () AS size
    FROM unnest(string_to_array(:title || ' ' || :tags || ' ' || :body, ' ')) AS term WHERE term <> ''
), added AS (
    INSERT INTO posting (term, partition, memory_seq, times, size)
    SELECT term, :partition, :seq, count(*), max(size) FROM words GROUP BY term ORDER BY term
    RETURNING size
)
INSERT INTO place_size (partition, memories, words)
SELECT :partition, 1, max(size) FROM added HAVING count(*) > 0
ON CONFLICT (partition) DO UPDATE
SET memories = place_size.memories + 1, words = place_size.words + excluded.words

-- name: unindex_words
WITH gone AS (
    DELETE FROM posting WHERE memory_seq IN (:list:seqs) RETURNING memory_seq, partition, size
), texts AS (
    SELECT DISTINCT memory_seq, partition, size FROM gone
), places AS (
    SELECT partition, count(*) AS memories, sum(size) AS words FROM texts GROUP BY partition
)
UPDATE place_size SET memories = place_size.memories - places.memories, words = place_size.words - places.words
FROM places WHERE place_size.partition = places.partition

-- name: index_cue
INSERT INTO cue_posting (term, partition, situation_seq, memory_seq, times, size)
SELECT left(term, 200), :partition, situation.seq, situation.memory_seq, count(*), max(size)
FROM situation, (
    SELECT term, count(*) OVER () AS size FROM unnest(string_to_array(:body, ' ')) AS term WHERE term <> ''
) AS words
WHERE situation.seq = :seq GROUP BY left(term, 200), situation.seq, situation.memory_seq

-- name: unindex_cue
DELETE FROM cue_posting WHERE situation_seq IN (:list:seqs)

-- name: search_words
WITH place AS (
    SELECT greatest(sum(memories), 1)::FLOAT AS memories, greatest(sum(words) / greatest(sum(memories), 1), 1)::FLOAT AS usual
    FROM place_size WHERE partition IN (:list:partitions)
), found AS MATERIALIZED (
    SELECT term, memory_seq, times, size FROM posting
    WHERE term IN (:list:terms) AND partition IN (:list:partitions)
), rarity AS (
    SELECT term, ln((greatest(place.memories, count(*)) + 1) / (count(*) + 0.5)) AS weight
    FROM found, place GROUP BY term, place.memories
)
SELECT memory_seq FROM found JOIN rarity USING (term), place
GROUP BY memory_seq
ORDER BY sum(weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * size / place.usual))) DESC, memory_seq
LIMIT :limit

-- name: search_cues
WITH found AS MATERIALIZED (
    SELECT term, situation_seq, memory_seq, times, size FROM cue_posting
    WHERE term IN (:list:terms) AND partition IN (:list:partitions)
), place AS (
    SELECT greatest(count(DISTINCT situation_seq), 1)::FLOAT AS cues, greatest(avg(size), 1)::FLOAT AS usual FROM found
), rarity AS (
    SELECT term, ln((greatest(place.cues, count(*)) + 1) / (count(*) + 0.5)) AS weight
    FROM found, place GROUP BY term, place.cues
), best AS (
    SELECT situation_seq, memory_seq,
        sum(weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * size / place.usual))) AS fit
    FROM found JOIN rarity USING (term), place GROUP BY situation_seq, memory_seq
)
SELECT memory_seq FROM best ORDER BY fit DESC, situation_seq LIMIT :limit

-- name: add_shingles
INSERT INTO shingle (partition, shingle, memory_seq)
SELECT :partition, asked.value::BIGINT, :memory_seq FROM json_array_elements_text(:shingles::JSON) AS asked (value)
ON CONFLICT DO NOTHING

-- name: memories_of_shingles
SELECT (
    SELECT string_agg(near.memory_seq::TEXT, ',') FROM (
        SELECT memory_seq FROM shingle WHERE partition = :partition AND shingle = asked.value::BIGINT
        ORDER BY memory_seq DESC LIMIT :look
    ) AS near
) FROM json_array_elements_text(:shingles::JSON) WITH ORDINALITY AS asked (value, place) ORDER BY place

-- name: document_frequency
SELECT term, count(*) FROM posting
WHERE term IN (:list:terms) AND partition IN (:list:partitions) GROUP BY term

-- name: count_matches
SELECT count(DISTINCT memory_seq) FROM posting WHERE term IN (:list:terms) AND partition IN (:list:partitions)

-- name: count_place
SELECT coalesce(sum(memories), 0)::BIGINT FROM place_size WHERE partition = :partition

-- name: count_live
SELECT coalesce(sum(memories), 0)::BIGINT FROM place_size

-- name: add_embedding
INSERT INTO embedding (memory_seq, situation_seq, partition, live, change, provider, dimension, data, piece_ids)
VALUES (:memory_seq, :situation_seq, :partition, :live, 0, :provider, :dimension, :data::vector, :piece_ids)

-- name: turn_embeddings
UPDATE embedding SET live = :live, partition = :partition
WHERE memory_seq IN (:list:seqs) AND (live <> :live OR partition <> :partition)

-- name: ids_of_source
SELECT id FROM memory WHERE partition IN (:list:partitions) AND (forgotten_at IS NULL OR :hidden = 1) AND (
    source = :source OR EXISTS (
        SELECT 1 FROM jsonb_each_text(coalesce(more::JSONB -> 'source_ref', '{}')) AS said WHERE said.value = :source
    )
)

-- name: ids_derived_from
SELECT id FROM memory WHERE partition IN (:list:partitions) AND (forgotten_at IS NULL OR :hidden = 1)
  AND more LIKE '%"derived_from"%' AND EXISTS (
    SELECT 1 FROM jsonb_path_query(more::JSONB, '$.source_ref.derived_from[*]') AS origin
    WHERE origin #>> '{}' IN (:list:ids)
)

-- name: unindex_words_between
WITH gone AS (
    DELETE FROM posting WHERE memory_seq > :after AND memory_seq <= :upto RETURNING memory_seq, partition, size
), texts AS (
    SELECT DISTINCT memory_seq, partition, size FROM gone
), places AS (
    SELECT partition, count(*) AS memories, sum(size) AS words FROM texts GROUP BY partition
)
UPDATE place_size SET memories = place_size.memories - places.memories, words = place_size.words - places.words
FROM places WHERE place_size.partition = places.partition

-- name: unindex_cues_between
DELETE FROM cue_posting WHERE situation_seq > :after AND situation_seq <= :upto

-- The error of each partition's stored counts; one statement reads both sides in one snapshot. The size of a text is
-- the number of occurrences of its terms.
-- name: words_miscounted
SELECT * FROM (
    SELECT partition, coalesce(there.memories, 0) - coalesce(told.memories, 0) AS memories,
        coalesce(there.words, 0) - coalesce(told.words, 0) AS words
    FROM (
        SELECT partition, count(DISTINCT memory_seq) AS memories, sum(times)::BIGINT AS words
        FROM posting GROUP BY partition
    ) AS there FULL JOIN place_size AS told USING (partition)
) AS off WHERE memories <> 0 OR words <> 0

-- name: correct_place
INSERT INTO place_size (partition, memories, words) VALUES (:partition, :memories, :words)
ON CONFLICT (partition) DO UPDATE
SET memories = place_size.memories + excluded.memories, words = place_size.words + excluded.words

-- name: list_memories
SELECT seq FROM memory
WHERE partition = :partition
  AND (:kind = '' OR kind = :kind)
  AND (:category = '' OR category = :category)
  AND (:any_source = 1 OR source IN (:list:sources))
  AND (:without = '' OR source <> :without)
  AND (:session = '' OR session = :session)
  AND (:owner = '' OR owner = :owner)
  AND CASE :path WHEN '' THEN TRUE ELSE more::JSONB -> 'source_ref' ->> 'path' = :path END
  AND CASE :status
        WHEN '' THEN status IN ('candidate', 'established', 'promoted') AND forgotten_at IS NULL
        WHEN 'any' THEN TRUE
        WHEN 'forgotten' THEN forgotten_at IS NOT NULL
        ELSE status = :status AND forgotten_at IS NULL
      END
  AND seq < :below
ORDER BY seq DESC LIMIT :limit

-- Vector search in the database, exact in small partitions and by the index in large ones.

-- name: seen_partitions
SELECT id FROM partition

-- name: index_vectors
SELECT index_vectors(:size)

-- name: count_embedded
SELECT coalesce(sum(memories), 0)::BIGINT FROM piece_count
WHERE partition IN (:list:partitions) AND provider = :provider AND piece = -1

-- name: count_pieces
SELECT piece, sum(memories)::BIGINT FROM piece_count
WHERE partition IN (:list:partitions) AND provider = :provider AND piece IN (:list:pieces) GROUP BY piece

-- name: nearest_texts
SELECT memory_seq, 1 - (data <=> :query::vector) FROM embedding
WHERE live = 1 AND situation_seq = 0 AND provider = :provider AND partition IN (:list:partitions)
ORDER BY data <=> :query::vector, memory_seq LIMIT :limit

-- name: nearest_cues
SELECT memory_seq, 1 - (data <=> :query::vector) FROM embedding
WHERE live = 1 AND situation_seq > 0 AND provider = :provider AND partition IN (:list:partitions)
ORDER BY data <=> :query::vector, memory_seq LIMIT :limit

-- name: nearest_by_index
SELECT memory_seq, 1 - (data::vector(SIZE) <=> :query::vector(SIZE)) FROM embedding
WHERE live = 1 AND situation_seq = 0 AND dimension = SIZE AND provider = :provider AND partition IN (:list:partitions)
ORDER BY data::vector(SIZE) <=> :query::vector(SIZE) LIMIT :limit

-- name: search_widely
SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', '1000', true),
    set_config('hnsw.max_scan_tuples', '200000', true)

-- name: cosines_of
SELECT memory_seq, max(1 - (data <=> :query::vector)) FROM embedding
WHERE memory_seq IN (:list:seqs) AND provider = :provider AND (situation_seq > 0) = (:cues = 1) GROUP BY memory_seq

-- name: has_vector_index
SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(:name) AND indisvalid

-- name: newest_embedded
SELECT memory_seq FROM embedding
WHERE live = 1 AND situation_seq = 0 AND provider = :provider AND partition IN (:list:partitions)
ORDER BY memory_seq DESC LIMIT :limit

-- name: embedding_of
SELECT memory_seq, partition, live, data::TEXT FROM embedding
WHERE memory_seq IN (:list:seqs) AND situation_seq = 0 AND provider = :provider

-- name: embeddings_of
SELECT memory_seq, situation_seq, provider, dimension, data::TEXT, piece_ids FROM embedding
WHERE memory_seq IN (:list:seqs) ORDER BY memory_seq, situation_seq

-- name: count_by
SELECT tier, status, kind, category, source, count(*), count(forgotten_at)
FROM memory WHERE partition IN (:list:partitions) GROUP BY partition, tier, status, kind, category, source

-- name: shared_shingles
SELECT shingle, string_agg(memory_seq::TEXT, ',') FROM shingle WHERE partition = :partition AND shingle > :after
GROUP BY shingle HAVING count(*) BETWEEN 2 AND :most ORDER BY shingle LIMIT :limit

-- name: aged_memories
SELECT seq, renewed_in, confidence FROM memory
WHERE partition IN (:list:partitions) AND forgotten_at IS NULL AND status IN ('candidate', 'established')
  AND NOT source IN (:list:raw)
  AND renewed_in < (:thresholds::JSONB ->> CASE
        WHEN category = 'todo' THEN :todo::INT
        WHEN more LIKE '%"max_phases":%' THEN coalesce((more::JSONB ->> 'max_phases')::INT, :usual::INT)
        ELSE :usual::INT
      END)::BIGINT
ORDER BY seq

-- name: strategies_told
SELECT DISTINCT more::JSONB ->> 'strategy' FROM outcome
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1)

-- name: erase_strategy
UPDATE outcome SET more = jsonb_set(more::JSONB, '{strategy}', '""')::TEXT
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) AND more::JSONB ->> 'strategy' = :strategy

-- name: count_shown
UPDATE memory SET more = jsonb_set(more::JSONB, '{outcomes}', coalesce(more::JSONB -> 'outcomes', '{}') ||
    jsonb_build_object('shown', coalesce((more::JSONB -> 'outcomes' ->> 'shown')::INTEGER, 0) + 1))::TEXT
WHERE id IN (:list:ids)

-- name: claim_job
UPDATE job SET state = 'running', attempts = attempts + 1, fence = fence + 1, owner = :owner, lease_until = :until,
    since = :now
WHERE seq = (
    SELECT seq FROM job WHERE state IN ('waiting', 'running') AND kind IN (:list:kinds) AND (
        (state = 'waiting' AND (not_before <= :now OR not_before > :now + 2 * (not_before - since)))
        OR (state = 'running' AND attempts < :most
            AND (lease_until <= :now OR lease_until > :now + 2 * (lease_until - since)))
    ) ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING id, kind, body, key, project, agent, role, trust, folder, state, attempts, queued_at, error, owner, fence

-- name: wake_workers
SELECT pg_notify('swarmlore_job', '')::TEXT
