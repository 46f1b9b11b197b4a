-- Statements that SQLite says in its own way.

-- name: index_words
INSERT INTO words (rowid, title, body, tags, place) VALUES (:seq, :title, :body, :tags, :place)

-- name: unindex_words
DELETE FROM words WHERE rowid = :seq

-- name: index_cue
INSERT INTO cue_words (rowid, body, place) VALUES (:seq, :body, :place)

-- name: unindex_cue
DELETE FROM cue_words WHERE rowid = :seq

-- name: search_words
SELECT rowid, -bm25(words, 1.0, 1.0, 1.0, 0.0) FROM words WHERE words MATCH :match ORDER BY rank LIMIT :limit

-- name: search_cues
SELECT situation.memory_seq, -bm25(cue_words, 1.0, 0.0), situation.seq FROM cue_words
JOIN situation ON situation.seq = cue_words.rowid
WHERE cue_words MATCH :match ORDER BY rank LIMIT :limit

-- name: document_frequency
SELECT term, doc FROM words_vocab WHERE term IN (:list:terms)

-- name: count_words
SELECT count(*) FROM memory
WHERE forgotten_at IS NULL AND status IN ('candidate', 'established', 'promoted') AND partition IN (:list:partitions)

-- name: clear_words
DELETE FROM words

-- name: clear_cues
DELETE FROM cue_words
