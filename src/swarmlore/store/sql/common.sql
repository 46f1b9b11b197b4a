-- Statements that both engines share, loaded by name. A parameter is written :name.

-- name: find_partition
SELECT id FROM partition WHERE tier = :tier AND project = :project AND owner = :owner

-- name: add_partition
INSERT INTO partition (tier, project, owner) VALUES (:tier, :project, :owner)

-- name: visible_partitions
SELECT id, tier FROM partition
WHERE tier = 'hive'
   OR (tier = 'swarm' AND (
        project IN (:list:projects) OR project IN (SELECT alias FROM project_alias WHERE project IN (:list:projects))
      ))
   OR (tier = 'agent' AND owner = :agent AND :agent <> '')

-- name: aliases_of
SELECT alias, project FROM project_alias WHERE alias IN (:list:names) OR project IN (:list:names)

-- name: move_aliases
UPDATE project_alias SET project = :project WHERE project = :former

-- name: put_alias
INSERT INTO project_alias (alias, project, at) VALUES (:alias, :project, :at)
ON CONFLICT (alias) DO UPDATE SET project = excluded.project, at = excluded.at

-- name: drop_alias
DELETE FROM project_alias WHERE alias = :alias

-- name: every_shared_partition
SELECT id, tier FROM partition
WHERE tier IN ('hive', 'swarm') OR (tier = 'agent' AND owner = :agent AND :agent <> '')

-- name: count_partitions
SELECT count(*) FROM partition

-- name: put_memory
INSERT INTO memory (
    id, handle, partition, text, title, kind, category, tier, project, owner, scope, status, trust, source, key,
    session, position, confidence, created_at, updated_at, last_accessed_at, access_count, expires_at, valid_from,
    valid_until, forgotten_at, superseded_by, feedback_score, feedback_count, version, more, stems, renewed_in
) VALUES (
    :id, :handle, :partition, :text, :title, :kind, :category, :tier, :project, :owner, :scope, :status, :trust,
    :source, :key, :session, :position, :confidence, :created_at, :updated_at, :last_accessed_at, :access_count,
    :expires_at, :valid_from, :valid_until, :forgotten_at, :superseded_by, :feedback_score, :feedback_count, :version,
    :more, :stems, (SELECT coalesce(max(ended), 0) FROM phase)
) ON CONFLICT (id) DO NOTHING RETURNING seq

-- name: replace_memory
UPDATE memory SET
    partition = :partition, text = :text, title = :title, kind = :kind, category = :category, tier = :tier,
    project = :project, owner = :owner, scope = :scope, status = :status, trust = :trust, source = :source,
    key = :key, session = :session, position = :position, confidence = :confidence, created_at = :created_at,
    updated_at = :updated_at, last_accessed_at = :last_accessed_at, access_count = :access_count,
    expires_at = :expires_at, valid_from = :valid_from, valid_until = :valid_until, forgotten_at = :forgotten_at,
    superseded_by = :superseded_by, feedback_score = :feedback_score, feedback_count = :feedback_count,
    version = :version, more = :more, stems = :stems
WHERE id = :id RETURNING seq

-- name: delete_memory
DELETE FROM memory WHERE id = :id

-- name: handle_taken
SELECT 1 FROM memory WHERE handle = :handle

-- name: touch_memory
UPDATE memory SET access_count = access_count + 1, last_accessed_at = :now WHERE id = :id

-- name: seq_of
SELECT seq, partition FROM memory WHERE id = :id

-- name: row_of
SELECT seq, partition, version FROM memory WHERE id = :id

-- name: situations_of
SELECT memory_seq, text, via, at, seq FROM situation WHERE memory_seq IN (:list:seqs) ORDER BY seq

-- name: add_situation
INSERT INTO situation (memory_seq, via, text, at) VALUES (:memory_seq, :via, :text, :at) RETURNING seq

-- name: delete_situation
DELETE FROM situation WHERE seq = :seq

-- name: add_shingle
INSERT INTO shingle (partition, shingle, memory_seq) VALUES (:partition, :shingle, :memory_seq)
ON CONFLICT DO NOTHING

-- name: delete_shingle
DELETE FROM shingle WHERE partition = :partition AND shingle = :shingle AND memory_seq = :memory_seq

-- name: stems_of
SELECT seq, stems FROM memory WHERE seq IN (:list:seqs)

-- name: candidate_rows
SELECT seq, partition, stems, source, session, position FROM memory WHERE seq IN (:list:seqs)

-- name: set_stems
UPDATE memory SET stems = :stems WHERE seq = :seq

-- name: newest_of
SELECT seq FROM memory WHERE partition = :partition ORDER BY seq DESC LIMIT :limit

-- name: texts_of
SELECT seq, text FROM memory WHERE seq IN (:list:seqs)

-- name: seqs_of_key
SELECT seq FROM memory WHERE partition = :partition AND key = :key ORDER BY seq

-- name: seqs_of_keys
SELECT seq, key FROM memory WHERE partition IN (:list:partitions) AND key <> '' AND key IN (:list:keys)
ORDER BY seq

-- name: put_pieces
INSERT INTO piece (memory_seq, provider, data) VALUES (:memory_seq, :provider, :data)
ON CONFLICT (memory_seq) DO UPDATE SET provider = excluded.provider, data = excluded.data

-- name: delete_pieces
DELETE FROM piece WHERE memory_seq = :memory_seq

-- name: delete_embedding
DELETE FROM embedding WHERE memory_seq = :memory_seq AND situation_seq = :situation_seq

-- name: delete_embeddings_of
DELETE FROM embedding WHERE memory_seq = :memory_seq

-- name: pieces_of
SELECT memory_seq, data FROM piece WHERE provider = :provider AND memory_seq IN (:list:seqs)

-- name: add_pending
INSERT INTO pending (memory_seq, situation_seq, work) VALUES (:memory_seq, :situation_seq, :work)
ON CONFLICT DO NOTHING

-- name: done_pending
DELETE FROM pending WHERE work = :work AND memory_seq = :memory_seq AND situation_seq = :situation_seq

-- name: drop_pending_of
DELETE FROM pending WHERE memory_seq = :memory_seq

-- name: fail_pending
UPDATE pending SET attempts = attempts + 1, error = :error
WHERE work = :work AND memory_seq = :memory_seq AND situation_seq = :situation_seq

-- name: count_visible_pending
SELECT work, count(*) FROM pending JOIN memory ON memory.seq = pending.memory_seq
WHERE partition IN (:list:partitions) GROUP BY work

-- name: has_other_partitions
SELECT 1 FROM partition WHERE NOT id IN (:list:partitions) LIMIT 1

-- name: list_pending
SELECT memory_seq, situation_seq, attempts, error FROM pending WHERE work = :work ORDER BY memory_seq LIMIT :limit

-- name: pending_of
SELECT memory_seq, situation_seq FROM pending
WHERE work = 'embed' AND memory_seq = (SELECT seq FROM memory WHERE id = :id)

-- name: count_pending
SELECT work, count(*), max(attempts) FROM pending GROUP BY work

-- name: text_to_embed
SELECT memory.title, memory.text, memory.partition,
    CASE WHEN memory.status IN ('candidate', 'established', 'promoted') AND memory.forgotten_at IS NULL
         THEN 1 ELSE 0 END
FROM memory WHERE memory.seq = :memory_seq

-- name: situation_to_embed
SELECT situation.text, memory.partition,
    CASE WHEN memory.status IN ('candidate', 'established', 'promoted') AND memory.forgotten_at IS NULL
         THEN 1 ELSE 0 END
FROM situation JOIN memory ON memory.seq = situation.memory_seq WHERE situation.seq = :situation_seq

-- name: add_link
INSERT INTO link (source, target, kind, at, strength, operation)
VALUES (:source, :target, :kind, :at, :strength, :operation) ON CONFLICT DO NOTHING

-- name: links_of
SELECT source, target, kind, at, strength FROM link
WHERE source IN (:list:ids) OR target IN (:list:ids)

-- name: delete_links_of_operation
DELETE FROM link WHERE operation = :operation

-- name: delete_links_of
DELETE FROM link WHERE source = :id OR target = :id

-- name: proof_operation
SELECT id FROM operation WHERE id = :id

-- name: add_operation
INSERT INTO operation (id, at, verb, by, project, reason, undoes, undone_by, job)
VALUES (:id, :at, :verb, :by, :project, :reason, :undoes, '', :job) ON CONFLICT (id) DO NOTHING

-- name: get_operation
SELECT id, at, verb, by, project, reason, undoes, undone_by FROM operation WHERE id = :id

-- name: last_operation
SELECT id FROM operation WHERE by = :by AND project IN (:list:projects) AND undone_by = '' AND undoes = '' AND job = ''
  AND verb NOT IN ('erase', 'settle', 'outcome', 'notes')
  AND (verb <> 'phase' OR EXISTS (SELECT 1 FROM audit WHERE audit.operation = operation.id)) AND NOT EXISTS (
    SELECT 1 FROM audit LEFT JOIN memory ON memory.id = audit.memory
    WHERE audit.operation = operation.id AND memory.id IS NULL
  )
ORDER BY at DESC, id DESC LIMIT 1

-- name: last_act
SELECT id, verb FROM operation WHERE by = :by AND project IN (:list:projects) AND undone_by = '' AND undoes = ''
  AND job = ''
  AND verb NOT IN ('settle', 'outcome', 'notes') ORDER BY at DESC, id DESC LIMIT 1

-- name: last_undo
SELECT id FROM operation WHERE by = :by AND project IN (:list:projects) AND undone_by = '' AND undoes <> ''
ORDER BY at DESC, id DESC LIMIT 1

-- name: mark_undone
UPDATE operation SET undone_by = :undone_by WHERE id = :id

-- name: add_audit
INSERT INTO audit (operation, memory, partition, action, reason, version, before)
VALUES (:operation, :memory, :partition, :action, :reason, :version, :before)

-- name: audit_of_memory
SELECT audit.operation, operation.at, audit.action, operation.by, audit.reason, audit.before
FROM audit JOIN operation ON operation.id = audit.operation
WHERE audit.memory = :id ORDER BY audit.seq

-- name: pasts_of
SELECT audit.memory, audit.operation, operation.verb, operation.undoes, target.verb, audit.before
FROM audit JOIN operation ON operation.id = audit.operation LEFT JOIN operation AS target ON target.id = operation.undoes
WHERE audit.memory IN (:list:ids) ORDER BY audit.seq DESC

-- name: audit_of_operation
SELECT memory, action, seq, before FROM audit WHERE operation = :operation ORDER BY seq DESC

-- name: partitions_of_operation
SELECT DISTINCT partition FROM audit WHERE operation = :operation

-- name: changes_since
SELECT count(*) FROM audit JOIN operation ON operation.id = audit.operation
WHERE audit.memory = :id AND audit.seq > :seq AND operation.undone_by = '' AND operation.undoes = ''
  AND audit.action NOT IN ('rated helpful', 'rated harmful', 'unrated')

-- name: ratings_since
SELECT count(*) FROM audit JOIN operation ON operation.id = audit.operation
WHERE audit.memory = :id AND audit.seq > :seq AND operation.undone_by = '' AND operation.undoes = ''
  AND audit.action IN ('rated helpful', 'rated harmful', 'unrated')

-- name: erase_audit
UPDATE audit SET before = NULL, reason = '' WHERE memory = :id

-- name: erase_reasons
UPDATE audit SET reason = '' WHERE operation IN (SELECT operation FROM audit WHERE memory = :id)

-- name: ids_superseded_by
SELECT id FROM memory WHERE superseded_by = :id

-- name: trim_rejections
DELETE FROM rejection WHERE partition = :partition AND seq NOT IN (
    SELECT seq FROM rejection WHERE partition = :partition ORDER BY seq DESC LIMIT :keep
)

-- name: list_rejections
SELECT rejection.id, text, reason, layer, at, partition.tier FROM rejection
JOIN partition ON partition.id = rejection.partition
WHERE partition IN (:list:partitions) ORDER BY rejection.seq DESC LIMIT :limit

-- name: put_session
INSERT INTO session (id, project, agent, client, cwd, started_at, ended_at, extra)
VALUES (:id, :project, :agent, :client, :cwd, :started_at, :ended_at, :extra)
ON CONFLICT (project, agent, id) DO UPDATE SET client = excluded.client, cwd = excluded.cwd, extra = excluded.extra,
    ended_at = excluded.ended_at

-- name: last_seen
SELECT at FROM event_seen WHERE id = :id AND project = :project AND agent = :agent

-- name: see_event
INSERT INTO event_seen (id, project, agent, at) VALUES (:id, :project, :agent, :at)
ON CONFLICT (id, project, agent) DO UPDATE SET at = excluded.at

-- name: count_events
SELECT count(*) FROM event_seen

-- name: forget_seen
DELETE FROM event_seen WHERE project = :project AND agent = :agent AND at < :before

-- name: get_session
SELECT id, client, project, agent, started_at, ended_at, cwd, extra FROM session
WHERE project = :project AND agent = :agent AND id = :id

-- name: list_sessions
SELECT id, client, project, agent, started_at, ended_at, cwd, extra FROM session
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) ORDER BY started_at DESC LIMIT :limit

-- name: open_sessions
SELECT id, client, project, agent, started_at, ended_at, cwd, extra FROM session
WHERE ended_at IS NULL AND started_at > :since AND client <> '' ORDER BY started_at DESC LIMIT :limit

-- A UNION, as SQLite takes seven times as long for an OR of both parts.
-- name: open_session_of
SELECT id FROM (
    SELECT id, started_at FROM session
    WHERE project IN (:list:projects) AND agent = :agent AND ended_at IS NULL
    UNION ALL
    SELECT id, started_at FROM session
    WHERE project IN (SELECT alias FROM project_alias WHERE project IN (:list:projects))
      AND agent = :agent AND ended_at IS NULL
) AS own ORDER BY started_at DESC LIMIT 1

-- name: clients_seen
SELECT client, count(*), max(started_at) FROM session WHERE client <> '' GROUP BY client

-- name: citing_memories
SELECT DISTINCT memory_seq FROM entity
WHERE partition IN (:list:partitions) AND entity >= 'file:' AND entity < 'file;' AND memory_seq > :after
ORDER BY memory_seq LIMIT :limit

-- name: add_receipt
INSERT INTO receipt (id, at, project, agent, session, trigger, cue, chars, tokens, reason, headroom)
VALUES (:id, :at, :project, :agent, :session, :trigger, :cue, :chars, :tokens, :reason, :headroom) RETURNING seq

-- name: add_receipt_item
INSERT INTO receipt_item (receipt_seq, place, memory, handle, score, cut, why)
VALUES (:receipt_seq, :place, :memory, :handle, :score, :cut, :why)

-- Hide receipts of other agents that hold only their private memories, as the cue may name one.
-- name: list_receipts
SELECT seq, id, at, project, agent, session, trigger, cue, chars, tokens, reason, headroom,
    (SELECT count(*) FROM receipt_item WHERE receipt_seq = receipt.seq AND cut = 0),
    (SELECT count(*) FROM receipt_item WHERE receipt_seq = receipt.seq AND cut = 1)
FROM receipt
WHERE project IN (:list:projects) AND (session = :session OR :session = '') AND (
    agent = :agent OR (:every = 1 AND (
        NOT EXISTS (SELECT 1 FROM receipt_item WHERE receipt_seq = receipt.seq) OR EXISTS (
            SELECT 1 FROM receipt_item JOIN memory ON memory.id = receipt_item.memory
            WHERE receipt_seq = receipt.seq AND memory.partition IN (:list:partitions)
        )
    ))
)
ORDER BY seq DESC LIMIT :limit

-- name: receipt_items
SELECT receipt_seq, memory, receipt_item.handle, score, cut, why FROM receipt_item
JOIN receipt ON receipt.seq = receipt_item.receipt_seq
LEFT JOIN memory ON memory.id = receipt_item.memory
WHERE receipt_seq IN (:list:seqs) AND (
    memory.partition IN (:list:partitions) OR (memory.seq IS NULL AND receipt.agent = :agent)
)
ORDER BY receipt_seq, place

-- name: shown_in_session
SELECT DISTINCT receipt_item.memory, receipt.agent
FROM receipt_item JOIN receipt ON receipt.seq = receipt_item.receipt_seq
WHERE receipt.project = :project AND receipt.session = :session AND receipt_item.cut = 0
  AND receipt.seq >= coalesce((
    SELECT max(seq) FROM receipt WHERE project = :project AND session = :session AND trigger = 'compaction'
  ), 0)

-- name: showings_in_session
SELECT receipt_item.memory, receipt.cue, receipt.trigger, receipt.agent
FROM receipt_item JOIN receipt ON receipt.seq = receipt_item.receipt_seq
WHERE receipt.project IN (:list:projects) AND receipt.session = :session AND receipt_item.cut = 0
ORDER BY receipt.seq, receipt_item.place

-- name: showings_of_memory
SELECT sum(CASE WHEN receipt_item.cut = 0 THEN 1 ELSE 0 END),
    count(DISTINCT CASE WHEN receipt_item.cut = 0 THEN receipt.session END),
    max(CASE WHEN receipt_item.cut = 0 THEN receipt.at END), sum(receipt_item.cut)
FROM receipt_item JOIN receipt ON receipt.seq = receipt_item.receipt_seq
WHERE receipt_item.memory = :id AND receipt.project IN (:list:projects) AND (receipt.agent = :agent OR :every = 1)

-- name: shown_among
SELECT DISTINCT memory FROM receipt_item WHERE cut = 0 AND memory IN (:list:ids)

-- name: set_more
UPDATE memory SET more = :more WHERE id = :id

-- name: add_outcome
INSERT INTO outcome (id, at, project, agent, session, task, success, score, verdict, more)
VALUES (:id, :at, :project, :agent, :session, :task, :success, :score, :verdict, :more) ON CONFLICT (id) DO NOTHING

-- name: list_outcomes
SELECT id, at, project, agent, session, task, success, score, verdict, more FROM outcome
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) AND (session = :session OR :session = '')
ORDER BY seq DESC LIMIT :limit

-- name: get_outcome
SELECT id, at, project, agent, session, task, success, score, verdict, more FROM outcome
WHERE id = :id AND project IN (:list:projects) AND (agent = :agent OR :every = 1)

-- name: outcome_credited
SELECT 1 FROM outcome WHERE project IN (:list:projects) AND agent = :agent AND session = :session AND task = :task
  AND verdict <> 'neutral' AND more NOT LIKE '%"told_before": true%'
  AND NOT EXISTS (SELECT 1 FROM operation WHERE operation.id = outcome.id AND operation.undone_by <> '') LIMIT 1

-- name: erase_receipt_items
UPDATE receipt_item SET why = '' WHERE memory = :id

-- name: erase_receipt_cues
UPDATE receipt SET cue = '' WHERE seq IN (SELECT receipt_seq FROM receipt_item WHERE memory = :id)

-- name: get_meta
SELECT value FROM meta WHERE name = :name

-- name: put_meta
INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: drop_meta
DELETE FROM meta WHERE name = :name

-- name: add_migration
INSERT INTO migration (version, name, applied_at) VALUES (:version, :name, :applied_at)

-- name: every_seq
SELECT seq FROM memory WHERE seq > :after ORDER BY seq LIMIT :limit

-- name: entities_known
SELECT DISTINCT entity FROM entity
WHERE partition IN (:list:partitions) AND NOT (entity >= 'file:' AND entity < 'file;')

-- name: add_entity
INSERT INTO entity (partition, entity, memory_seq) VALUES (:partition, :entity, :memory_seq) ON CONFLICT DO NOTHING

-- name: delete_entities_of
DELETE FROM entity WHERE memory_seq IN (:list:seqs)

-- name: seqs_of_entities
SELECT DISTINCT memory_seq FROM entity WHERE partition IN (:list:partitions) AND entity IN (:list:entities)

-- name: ids_with_prefix
SELECT id FROM memory
WHERE partition IN (:list:partitions) AND (id >= :low AND id < :high OR handle >= :low_handle AND handle < :high_handle)
ORDER BY seq DESC LIMIT :limit

-- name: id_of_handle
SELECT id FROM memory WHERE handle = :handle AND partition IN (:list:partitions)

-- name: ids_of_session
SELECT id FROM memory WHERE session = :session AND partition IN (:list:partitions)
  AND (forgotten_at IS NULL OR :hidden = 1)

-- name: queue_foreign
INSERT INTO pending (memory_seq, situation_seq, work)
SELECT memory_seq, situation_seq, 'embed' FROM embedding WHERE provider <> :provider ON CONFLICT DO NOTHING

-- Rebuilding the indexes, one range of row numbers at a time.

-- name: queue_missing
INSERT INTO pending (memory_seq, situation_seq, work)
SELECT memory.seq, 0, 'embed' FROM memory
LEFT JOIN embedding ON embedding.memory_seq = memory.seq AND embedding.situation_seq = 0
WHERE memory.seq > :after AND memory.seq <= :upto AND embedding.seq IS NULL ON CONFLICT DO NOTHING

-- name: newest_seq
SELECT coalesce(max(seq), 0) FROM memory

-- name: situations_after
SELECT situation.seq, situation.text, memory.partition FROM situation
JOIN memory ON memory.seq = situation.memory_seq
WHERE situation.seq > :after AND memory.status IN (:list:live) AND memory.forgotten_at IS NULL
ORDER BY situation.seq LIMIT :limit

-- name: entities_between
SELECT partition, entity, memory_seq FROM entity WHERE memory_seq > :after AND memory_seq <= :upto

-- name: mentions_between
SELECT partition, name, memory_seq, said, type, about, weight FROM mention
WHERE memory_seq > :after AND memory_seq <= :upto

-- name: relations_between
SELECT partition, source, target, kind, memory_seq, about, strength FROM relation
WHERE memory_seq > :after AND memory_seq <= :upto

-- name: keys_after
SELECT partition, shingle, memory_seq FROM shingle
WHERE (partition, shingle, memory_seq) > (:partition, :shingle, :memory_seq)
ORDER BY partition, shingle, memory_seq LIMIT :limit

-- name: any_erased
SELECT 1 FROM audit WHERE action = 'erased' LIMIT 1

-- name: newest_time
SELECT max(created_at) FROM (SELECT created_at FROM memory ORDER BY seq DESC LIMIT 100) AS newest

-- name: add_settling
INSERT INTO pending (memory_seq, situation_seq, work)
SELECT seq, 0, 'settle' FROM memory
WHERE seq = :memory_seq AND NOT EXISTS (SELECT 1 FROM arrived WHERE arrived.memory_seq = :memory_seq)
ON CONFLICT DO NOTHING

-- name: add_arrived
INSERT INTO arrived (memory_seq) SELECT seq FROM memory WHERE id = :id ON CONFLICT DO NOTHING

-- name: get_ledger
SELECT seen, stamp, problem, at FROM ledger WHERE place = :place

-- name: put_ledger
INSERT INTO ledger (place, project, seen, stamp, problem, at)
VALUES (:place, :project, :seen, :stamp, :problem, :at)
ON CONFLICT (place) DO UPDATE SET project = excluded.project, seen = excluded.seen, stamp = excluded.stamp,
    problem = excluded.problem, at = excluded.at

-- name: drop_ledger
DELETE FROM ledger WHERE place = :place

-- name: ledger_lines
SELECT memory, hash, born_at, line FROM ledger_line WHERE place = :place

-- name: put_ledger_line
INSERT INTO ledger_line (place, project, memory, hash, born_at, line)
VALUES (:place, :project, :memory, :hash, :born_at, :line)
ON CONFLICT (place, memory) DO UPDATE SET hash = excluded.hash, born_at = excluded.born_at, line = excluded.line

-- name: drop_ledger_lines
DELETE FROM ledger_line WHERE place = :place

-- name: last_audit
SELECT coalesce(max(seq), 0) FROM audit

-- name: audited_since
SELECT DISTINCT memory FROM audit WHERE seq > :seen AND partition IN (:list:partitions) LIMIT :limit

-- name: erased_at
SELECT audit.memory, max(operation.at) FROM audit JOIN operation ON operation.id = audit.operation
WHERE audit.action = 'erased' AND audit.memory IN (:list:ids) GROUP BY audit.memory

-- name: partitions_of_ids
SELECT id, partition FROM memory WHERE id IN (:list:ids)

-- name: seqs_of_ids
SELECT seq, id FROM memory WHERE id IN (:list:ids) AND partition IN (:list:partitions)

-- name: seqs_in_order
SELECT seq, created_at, id FROM memory
WHERE partition = :partition AND (created_at, id) > (:at, :id) ORDER BY created_at, id LIMIT :limit

-- name: get_import
SELECT position, line, counts FROM import_state WHERE source = :source

-- name: put_import
INSERT INTO import_state (source, project, position, line, counts, at)
VALUES (:source, :project, :position, :line, :counts, :at)
ON CONFLICT (source) DO UPDATE SET position = excluded.position, line = excluded.line, counts = excluded.counts,
    at = excluded.at

-- name: drop_import
DELETE FROM import_state WHERE source = :source

-- Phases, and the ageing of memories by them.

-- name: renew_memory
UPDATE memory SET renewed_in = (SELECT coalesce(max(ended), 0) FROM phase) WHERE seq = :seq

-- name: rows_of_ids
SELECT seq, id FROM memory WHERE id IN (:list:ids)

-- name: delete_shingles_of
DELETE FROM shingle WHERE partition IN (:list:partitions) AND memory_seq IN (:list:seqs)

-- name: archive_memories
UPDATE memory SET status = 'archived', updated_at = :at, version = version + 1 WHERE seq IN (:list:seqs)

-- name: hide_memories
UPDATE memory SET forgotten_at = :at, version = version + 1 WHERE seq IN (:list:seqs)

-- name: open_phase
SELECT seq, project, number, name, kind, started_at, completed_at, ended, note, by FROM phase
WHERE (project IN (:list:projects) OR project IN (SELECT alias FROM project_alias WHERE project IN (:list:projects)))
  AND ended = 0 ORDER BY seq DESC LIMIT 1

-- name: list_phases
SELECT seq, project, number, name, kind, started_at, completed_at, ended, note, by FROM phase
WHERE project IN (:list:projects) ORDER BY seq DESC LIMIT :limit

-- name: phases_named
SELECT seq, project, number, name, kind, started_at, completed_at, ended, note, by FROM phase
WHERE project IN (:list:projects) AND (number = :number OR name = :name) ORDER BY seq DESC LIMIT 1000

-- name: last_phase_number
SELECT coalesce(max(number), 0) FROM phase WHERE project IN (:list:projects)

-- name: announced_since
SELECT 1 FROM phase WHERE project IN (:list:projects) AND kind <> 'day' AND (ended = 0 OR completed_at >= :since) LIMIT 1

-- name: add_phase
INSERT INTO phase (project, number, name, kind, started_at, by)
VALUES (:project, :number, :name, :kind, :started_at, :by) RETURNING seq

-- name: end_phase
UPDATE phase SET completed_at = :at, ended = (SELECT coalesce(max(ended), 0) + 1 FROM phase)
WHERE seq = :seq AND ended = 0

-- name: announce_phase
UPDATE phase SET kind = 'announced' WHERE seq = :seq AND ended = 0

-- name: drop_phase
DELETE FROM phase WHERE seq = :seq AND ended = 0

-- name: note_phase
UPDATE phase SET note = :note WHERE seq = (
    SELECT max(seq) FROM phase WHERE project IN (:list:projects)
)

-- name: clear_phase_notes
UPDATE phase SET note = '' WHERE project IN (:list:projects) AND note <> ''

-- name: phase_notes
SELECT note FROM phase WHERE project IN (:list:projects) AND note <> '' ORDER BY seq DESC LIMIT 1

-- name: completed_phases
SELECT ended FROM phase WHERE project IN (:list:projects) AND ended > 0 ORDER BY ended DESC LIMIT :limit

-- name: count_lessons
SELECT count(*) FROM memory WHERE partition IN (:list:partitions) AND forgotten_at IS NULL
  AND status IN ('candidate', 'established', 'promoted') AND NOT source IN (:list:raw)

-- name: rising_memories
SELECT seq FROM memory WHERE partition IN (:list:partitions) AND forgotten_at IS NULL AND NOT source IN (:list:raw)
  AND status IN ('candidate', 'established') AND (
    length(more) - length(replace(more, '"where":', '')) >= 8 * :sightings
    OR (status = 'established' AND created_at <= :born_before)
  )
ORDER BY seq

-- name: oldest_lessons
SELECT seq FROM memory WHERE partition IN (:list:partitions) AND forgotten_at IS NULL
  AND status IN ('candidate', 'established') AND NOT source IN (:list:raw)
ORDER BY created_at, id LIMIT :limit

-- name: hive_bound
SELECT seq FROM memory WHERE partition IN (:list:partitions) AND forgotten_at IS NULL AND NOT source IN (:list:raw)
  AND status IN ('candidate', 'established', 'promoted') AND (
    created_at <= :born_before OR more LIKE '%"hive_eligible"_true%' OR more LIKE '%"hive-fast-track"%'
  ) AND NOT EXISTS (
    SELECT 1 FROM link JOIN memory AS copy ON copy.id = link.source
    WHERE link.target = memory.id AND link.kind = 'related' AND copy.tier = 'hive'
  )
ORDER BY created_at DESC, id LIMIT :limit

-- name: touched_by_files
SELECT DISTINCT audit.memory FROM audit JOIN operation ON operation.id = audit.operation
WHERE audit.memory IN (:list:ids) AND operation.verb IN ('import', 'sync')

-- name: drop_rejections
DELETE FROM rejection WHERE id IN (:list:ids) AND partition IN (:list:partitions)

-- name: every_phase
SELECT project, number, name, kind, started_at, completed_at, ended, note, by FROM phase ORDER BY ended, seq

-- name: has_phase
SELECT 1 FROM phase WHERE project = :project AND name = :name AND started_at = :started_at

-- name: put_phase
INSERT INTO phase (project, number, name, kind, started_at, completed_at, ended, note, by)
VALUES (:project, :number, :name, :kind, :started_at, :completed_at, :ended, :note, :by)

-- Copying from store to store.

-- name: count_memories
SELECT count(*) FROM memory

-- name: every_partition
SELECT id, tier, project, owner FROM partition

-- name: every_agent
SELECT DISTINCT by FROM operation

-- name: every_alias
SELECT alias, project, at FROM project_alias ORDER BY alias

-- name: every_session
SELECT id, client, project, agent, started_at, ended_at, cwd, extra FROM session ORDER BY project, agent, id

-- name: every_receipt
SELECT seq, id, at, project, agent, session, trigger, cue, chars, tokens, reason, headroom FROM receipt ORDER BY seq

-- name: items_of_receipt
SELECT place, memory, handle, score, cut, why FROM receipt_item WHERE receipt_seq = :receipt_seq ORDER BY place

-- name: every_outcome
SELECT id, at, project, agent, session, task, success, score, verdict, more FROM outcome ORDER BY seq

-- name: has_receipt
SELECT 1 FROM receipt WHERE id = :id

-- name: every_rejection
SELECT id, partition, text, reason, layer, at FROM rejection ORDER BY seq

-- name: put_rejection
INSERT INTO rejection (id, partition, text, reason, layer, at)
SELECT :id, :partition, :text, :reason, :layer, :at
WHERE NOT EXISTS (SELECT 1 FROM rejection WHERE id = :id AND partition = :partition)

-- name: rows_with_ids
SELECT seq FROM memory WHERE id IN (:list:ids) ORDER BY seq

-- name: known_ids
SELECT id FROM memory WHERE id IN (:list:ids)

-- name: places_of_ids
SELECT id, tier, project, owner FROM memory WHERE id IN (:list:ids)

-- name: audit_of_memories
SELECT memory, operation, action, reason, version, before, partition FROM audit WHERE memory IN (:list:ids) ORDER BY seq

-- name: operations_named
SELECT id, at, verb, by, project, reason, undoes, undone_by FROM operation WHERE id IN (:list:ids)

-- name: put_operation
INSERT INTO operation (id, at, verb, by, project, reason, undoes, undone_by)
VALUES (:id, :at, :verb, :by, :project, :reason, :undoes, :undone_by) ON CONFLICT (id) DO NOTHING

-- name: links_from
SELECT source, target, kind, at, strength, operation FROM link WHERE source IN (:list:ids)

-- name: every_piece_of
SELECT memory_seq, provider, data FROM piece WHERE memory_seq IN (:list:seqs)

-- name: pending_of_rows
SELECT memory_seq, situation_seq, work, attempts, error FROM pending WHERE memory_seq IN (:list:seqs)

-- name: put_pending
INSERT INTO pending (memory_seq, situation_seq, work, attempts, error)
VALUES (:memory_seq, :situation_seq, :work, :attempts, :error) ON CONFLICT DO NOTHING

-- Counts for reports, grouped into periods of equal length from a start time.

-- name: first_times
SELECT (SELECT min(created_at) FROM memory WHERE partition IN (:list:partitions)),
    (SELECT min(at) FROM receipt WHERE (project IN (:list:projects) OR :wide = 1) AND (agent = :agent OR :every = 1))

-- name: ids_of_handles
SELECT handle, id FROM memory WHERE handle IN (:list:handles) AND partition IN (:list:partitions)

-- name: memory_figures
SELECT seq, id, handle, partition, project, tier, kind, source, status, created_at, updated_at, valid_until,
    forgotten_at, expires_at, title, substr(text, 1, 400), more
FROM memory WHERE partition IN (:list:partitions) AND seq > :after ORDER BY seq LIMIT :limit

-- Leave out blocks of other agents that held only their private memories.
-- name: moments_by_period
SELECT project, floor((at - :start) / :length), trigger, reason, CASE WHEN seen > 0 THEN 1 ELSE 0 END,
    count(*), sum(CASE WHEN seen > 0 THEN tokens * 1.0 * seen / given ELSE 0 END), max(at)
FROM (
    SELECT receipt.project, receipt.at, receipt.trigger, receipt.reason, receipt.tokens, receipt.agent, (
        SELECT count(*) FROM receipt_item WHERE receipt_seq = receipt.seq AND cut = 0
    ) AS given, (
        SELECT count(*) FROM receipt_item JOIN memory ON memory.id = receipt_item.memory
        WHERE receipt_seq = receipt.seq AND cut = 0 AND memory.partition IN (:list:partitions)
    ) AS seen FROM receipt
) AS moment
WHERE at >= :since AND (project IN (:list:projects) OR :wide = 1) AND (agent = :agent OR :every = 1)
  AND (given = 0 OR seen > 0)
GROUP BY 1, 2, 3, 4, 5

-- name: showings_by_period
SELECT receipt_item.memory, receipt.project, floor((receipt.at - :start) / :length), count(*),
    sum(receipt.tokens * 1.0 / (
        SELECT count(*) FROM receipt_item AS beside WHERE beside.receipt_seq = receipt.seq AND beside.cut = 0
    )), max(receipt.at)
FROM receipt_item JOIN receipt ON receipt.seq = receipt_item.receipt_seq
JOIN memory ON memory.id = receipt_item.memory
WHERE receipt_item.cut = 0 AND memory.partition IN (:list:partitions) AND receipt.at >= :since
  AND (receipt.project IN (:list:projects) OR :wide = 1) AND (receipt.agent = :agent OR :every = 1)
GROUP BY 1, 2, 3

-- name: cuts_by_reason
SELECT receipt_item.memory, receipt_item.why, count(*), sum(CASE WHEN receipt.at >= :since THEN 1 ELSE 0 END)
FROM receipt_item JOIN receipt ON receipt.seq = receipt_item.receipt_seq
JOIN memory ON memory.id = receipt_item.memory
WHERE receipt_item.cut = 1 AND memory.partition IN (:list:partitions)
  AND (receipt.project IN (:list:projects) OR :wide = 1) AND (receipt.agent = :agent OR :every = 1)
GROUP BY 1, 2

-- name: ratings_by_period
SELECT audit.memory, audit.action, operation.project, floor((operation.at - :start) / :length), count(*),
    sum(CASE WHEN operation.by = :agent OR :every = 1 THEN 1 ELSE 0 END)
FROM audit JOIN operation ON operation.id = audit.operation
WHERE audit.action IN ('rated helpful', 'rated harmful') AND operation.undone_by = '' AND operation.at >= :since
  AND audit.partition IN (:list:partitions)
GROUP BY 1, 2, 3, 4

-- name: outcomes_since
SELECT seq, at, project, session, verdict, more FROM outcome
WHERE seq > :after AND at >= :since AND (project IN (:list:projects) OR :wide = 1) AND (agent = :agent OR :every = 1)
ORDER BY seq LIMIT :limit

-- name: sessions_since
SELECT id, project, started_at, extra,
    CASE WHEN EXISTS (
        SELECT 1 FROM receipt WHERE receipt.project = session.project AND receipt.session = session.id
    ) THEN 1 ELSE 0 END
FROM session
WHERE started_at >= :since AND (project IN (:list:projects) OR :wide = 1) AND (agent = :agent OR :every = 1)

-- name: put_agent
INSERT INTO agent (project, name, program, model, task, registered_at, active_at)
VALUES (:project, :name, :program, :model, :task, :at, :at)
ON CONFLICT (project, name) DO UPDATE SET program = excluded.program, model = excluded.model, task = excluded.task,
    active_at = excluded.active_at

-- name: touch_agent
UPDATE agent SET active_at = :at WHERE project IN (:list:projects) AND name = :name

-- name: list_agents
SELECT name, program, model, task, registered_at, active_at FROM agent
WHERE project IN (:list:projects) ORDER BY active_at DESC, name

-- name: add_message
INSERT INTO message (id, project, sender, addressed, subject, body, thread, importance, ack_required, sent_at)
VALUES (:id, :project, :sender, :addressed, :subject, :body, :thread, :importance, :ack_required, :sent_at)

-- name: add_recipient
INSERT INTO recipient (message, project, sender, agent) VALUES (:message, :project, :sender, :agent)

-- name: list_inbox
SELECT message.id, message.sender, message.addressed, message.subject, '' AS body, message.thread, message.importance,
    message.ack_required, message.sent_at, recipient.read_at, recipient.acked_at
FROM recipient JOIN message ON message.id = recipient.message
WHERE recipient.project IN (:list:projects) AND recipient.agent = :agent
  AND (:urgent = 0 OR message.importance = 'urgent') AND (:thread = '' OR message.thread = :thread)
  AND (:unread = 0 OR recipient.read_at IS NULL OR (message.ack_required = 1 AND recipient.acked_at IS NULL))
ORDER BY message.seq DESC LIMIT :limit

-- name: count_inbox
SELECT count(*), coalesce(sum(CASE WHEN message.importance = 'urgent' AND recipient.read_at IS NULL THEN 1 ELSE 0 END), 0)
FROM recipient JOIN message ON message.id = recipient.message
WHERE recipient.project IN (:list:projects) AND recipient.agent = :agent
  AND (:urgent = 0 OR message.importance = 'urgent') AND (:thread = '' OR message.thread = :thread)
  AND (:unread = 0 OR recipient.read_at IS NULL OR (message.ack_required = 1 AND recipient.acked_at IS NULL))

-- name: list_sent
SELECT id, sender, addressed, subject, body, thread, importance, ack_required, sent_at FROM message
WHERE project IN (:list:projects) AND sender = :agent
  AND (:ref = '' OR (id >= :ref AND id < :last) OR id LIKE '%' || :ref)
ORDER BY seq DESC LIMIT :limit

-- name: deliveries
SELECT message, agent, read_at, acked_at FROM recipient WHERE message IN (:list:messages) ORDER BY message, agent

-- name: get_message
SELECT message.id, message.sender, message.addressed, message.subject, message.body, message.thread, message.importance,
    message.ack_required, message.sent_at, recipient.read_at, recipient.acked_at
FROM recipient JOIN message ON message.id = recipient.message
WHERE recipient.project IN (:list:projects) AND recipient.agent = :agent
  AND ((message.id >= :ref AND message.id < :last) OR message.id LIKE '%' || :ref)
ORDER BY message.id LIMIT 2

-- name: read_message
UPDATE recipient SET read_at = coalesce(read_at, :at) WHERE message = :id AND agent = :agent

-- name: ack_message
UPDATE recipient SET read_at = coalesce(read_at, :at), acked_at = coalesce(acked_at, :at)
WHERE message = :id AND agent = :agent

-- name: count_mail
SELECT count(*), coalesce(sum(CASE WHEN read_at IS NULL THEN 1 ELSE 0 END), 0) FROM recipient
WHERE project IN (:list:projects) AND agent = :agent

-- name: put_job
INSERT INTO job (id, project, agent, role, trust, folder, kind, key, body, state, queued_at, not_before, since)
VALUES (:id, :project, :agent, :role, :trust, :folder, :kind, :key, :body, 'waiting', :at, :at, :at)
ON CONFLICT DO NOTHING RETURNING id

-- name: job_of_key
SELECT id, kind, body, key, project, agent, role, trust, folder, state, attempts, queued_at, error, owner, fence
FROM job WHERE project = :project AND agent = :agent AND key = :key AND key <> ''

-- name: job_waits
SELECT 1 FROM job
WHERE project = :project AND agent = :agent AND key = :key AND key <> '' AND state = 'waiting' AND folder = :folder

-- A waiting job keeps its pause and attempts, so that queueing it again does not retry a failing job more often.
-- name: arm_job
UPDATE job SET
    again = CASE WHEN state = 'running' THEN 1 ELSE 0 END,
    attempts = CASE WHEN state IN ('waiting', 'running') THEN attempts ELSE 0 END,
    queued_at = CASE WHEN state = 'waiting' THEN queued_at ELSE :at END,
    not_before = CASE WHEN state = 'waiting' THEN not_before ELSE :at END,
    since = CASE WHEN state IN ('waiting', 'running') THEN since ELSE :at END,
    error = CASE WHEN state = 'waiting' THEN error ELSE '' END,
    state = CASE WHEN state = 'running' THEN state ELSE 'waiting' END,
    body = :body, folder = :folder, ended_at = NULL
WHERE id = :id

-- name: bury_expired
UPDATE job SET state = 'dead', ended_at = :now, owner = '',
    error = CASE WHEN error = '' THEN :error ELSE error END
WHERE state = 'running' AND attempts >= :most AND (lease_until <= :now OR lease_until > :now + 2 * (lease_until - since))

-- name: renew_job
UPDATE job SET lease_until = :until, since = :now
WHERE id = :id AND owner = :owner AND fence = :fence AND state = 'running' AND lease_until > :now RETURNING id

-- name: finish_job
UPDATE job SET state = CASE WHEN again = 1 THEN 'waiting' ELSE 'done' END,
    body = CASE WHEN again = 1 THEN body ELSE '{}' END, attempts = CASE WHEN again = 1 THEN 0 ELSE attempts END,
    ended_at = :now, since = not_before, again = 0, owner = '', error = ''
WHERE id = :id AND owner = :owner AND fence = :fence AND state = 'running' AND lease_until > :now RETURNING id

-- name: fail_job
UPDATE job SET state = CASE WHEN attempts >= :most THEN 'dead' ELSE 'waiting' END,
    ended_at = CASE WHEN attempts >= :most THEN :now ELSE NULL END, not_before = :not_before, since = :now,
    error = :error, owner = ''
WHERE id = :id AND owner = :owner AND fence = :fence AND state = 'running' RETURNING state

-- A job released by a stopping worker did not fail, so its attempt is given back.
-- name: release_job
UPDATE job SET state = 'waiting', attempts = attempts - 1, not_before = :now, since = :now, owner = ''
WHERE id = :id AND owner = :owner AND fence = :fence AND state = 'running' RETURNING id

-- name: put_effect
INSERT INTO effect (project, agent, key, at) VALUES (:project, :agent, :key, :at) ON CONFLICT DO NOTHING RETURNING key

-- name: find_effect
SELECT 1 FROM effect WHERE project = :project AND agent = :agent AND key = :key

-- name: next_due
SELECT min(CASE
    WHEN state = 'waiting' AND not_before > :now + 2 * (not_before - since) THEN :now
    WHEN state = 'waiting' THEN not_before
    WHEN lease_until > :now + 2 * (lease_until - since) THEN :now
    ELSE lease_until END) FROM job
WHERE state IN ('waiting', 'running') AND kind IN (:list:kinds)

-- name: count_jobs
SELECT state, kind, count(*), min(queued_at) FROM job
WHERE state <> 'done' AND (:all = 1 OR (project IN (:list:projects) AND (agent = :agent OR :every = 1)))
GROUP BY state, kind

-- name: count_done
SELECT count(*) FROM job WHERE state = 'done' AND ended_at >= :since

-- name: queue_length
SELECT count(*) FROM (SELECT 1 FROM job WHERE state IN ('waiting', 'running') LIMIT :most) AS open

-- name: list_open
SELECT id, kind, body, key, project, agent, role, trust, folder, state, attempts, queued_at, error, owner, fence
FROM job WHERE state IN ('waiting', 'running') AND project IN (:list:projects) AND (agent = :agent OR :every = 1)
ORDER BY seq LIMIT :limit

-- name: list_dead
SELECT id, kind, body, key, project, agent, role, trust, folder, state, attempts, queued_at, error, owner, fence
FROM job
WHERE state = 'dead' AND (:all = 1 OR (project IN (:list:projects) AND (agent = :agent OR :every = 1)))
ORDER BY ended_at DESC, seq DESC LIMIT :limit

-- name: dead_like
SELECT id, kind, body, key, project, agent, role, trust, folder, state, attempts, queued_at, error, owner, fence
FROM job WHERE state = 'dead' AND (:all = 1 OR (project IN (:list:projects) AND (agent = :agent OR :every = 1)))
  AND ((id >= :ref AND id < :last) OR id LIKE '%' || :ref) ORDER BY id LIMIT 2

-- name: retry_job
UPDATE job SET state = 'waiting', attempts = 0, not_before = :at, since = :at, ended_at = NULL
WHERE id = :id AND state = 'dead' RETURNING id

-- name: discard_job
DELETE FROM job WHERE id = :id AND state = 'dead' RETURNING id

-- name: held_by_jobs
SELECT id, body, error FROM job
WHERE state <> 'done' AND project IN (:list:projects) AND (agent = :agent OR :every = 1) ORDER BY seq

-- A running job is taken from its worker as well, as its content must no longer be stored.
-- name: change_job
UPDATE job SET body = :body, error = :error, fence = fence + 1,
    owner = '', state = CASE WHEN state = 'running' THEN 'waiting' ELSE state END
WHERE id = :id

-- name: drop_job
DELETE FROM job WHERE id = :id

-- name: held_by_mail
SELECT id, subject, body, thread FROM message WHERE project IN (:list:projects) AND (sender = :agent OR EXISTS (
    SELECT 1 FROM recipient WHERE recipient.message = message.id AND recipient.agent = :agent
)) ORDER BY seq

-- name: change_message
UPDATE message SET subject = :subject, body = :body, thread = :thread WHERE id = :id

-- name: settle_recipient
UPDATE recipient SET read_at = coalesce(read_at, :at), acked_at = coalesce(acked_at, :at)
WHERE message = :message AND agent = 'memory-catcher'

-- name: settle_message
UPDATE message SET body = '' WHERE id = :id AND addressed = '["memory-catcher"]'

-- name: prune_mail
DELETE FROM message WHERE project IN (:list:projects) AND sender = :agent AND sent_at < :before AND (
    sent_at < :long_before
    OR NOT EXISTS (SELECT 1 FROM recipient WHERE recipient.message = message.id AND recipient.read_at IS NULL)
)

-- name: drop_received
DELETE FROM recipient WHERE message = :id AND agent = :agent RETURNING message

-- name: held_by_outcomes
SELECT id, task, more FROM outcome WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1)

-- name: change_outcome
UPDATE outcome SET task = :task, more = :more WHERE id = :id

-- name: drop_message
DELETE FROM message WHERE id = :id

-- Compared with the newest row too, as a clock that is briefly ahead would delete all rows.
-- name: prune_jobs
DELETE FROM job WHERE state = 'done' AND ended_at < :now - :age
  AND ended_at < (SELECT max(last.ended_at) FROM job AS last WHERE last.state = 'done') - :age

-- Keep the effects of dead jobs while they can still be retried.
-- name: prune_effects
DELETE FROM effect WHERE at < :now - :age AND at < (SELECT max(last.at) FROM effect AS last) - :age
  AND at < coalesce((SELECT min(queued_at) FROM job WHERE state <> 'done'), :now)

-- name: put_worker
INSERT INTO worker (id, host, pid, started_at, seen_at) VALUES (:id, :host, :pid, :at, :at)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, pid = excluded.pid

-- name: prune_workers
DELETE FROM worker WHERE seen_at < :before

-- name: list_workers
SELECT host, pid, started_at, seen_at FROM worker ORDER BY seen_at DESC LIMIT :limit

-- The graph of mentions, relations and communities.

-- name: add_mention
INSERT INTO mention (partition, name, memory_seq, said, type, about, weight)
VALUES (:partition, :name, :memory_seq, :said, :type, :about, :weight) ON CONFLICT DO NOTHING

-- name: add_relation
INSERT INTO relation (partition, source, target, kind, memory_seq, about, strength)
VALUES (:partition, :source, :target, :kind, :memory_seq, :about, :strength) ON CONFLICT DO NOTHING

-- name: delete_mentions_of
DELETE FROM mention WHERE memory_seq IN (:list:seqs)

-- name: delete_relations_of
DELETE FROM relation WHERE memory_seq IN (:list:seqs)

-- name: clear_communities
DELETE FROM community

-- name: any_mention
SELECT 1 FROM mention WHERE partition IN (:list:partitions) LIMIT 1

-- name: count_mentions
SELECT name, count(*) FROM mention
WHERE partition IN (:list:partitions) AND name IN (:list:names) GROUP BY name

-- name: mentions_of_names
SELECT name, memory_seq, weight FROM mention WHERE partition IN (:list:partitions) AND name IN (:list:names)

-- name: mentions_of_rows
-- The plus keeps SQLite from using the index on the partition, which would read the whole partition.
SELECT memory_seq, name, said, type, about, weight FROM mention
WHERE +partition IN (:list:partitions) AND memory_seq IN (:list:seqs)

-- name: relations_from
SELECT source, target, kind, strength, memory_seq, about FROM relation
WHERE partition IN (:list:partitions) AND source IN (:list:names)

-- name: relations_to
SELECT source, target, kind, strength, memory_seq, about FROM relation
WHERE partition IN (:list:partitions) AND target IN (:list:names)

-- name: every_mention
SELECT name, memory_seq, said, type, about FROM mention WHERE partition IN (:list:partitions)

-- name: every_pair
SELECT name, memory_seq FROM mention WHERE partition = :partition

-- name: every_relation
SELECT source, target, kind, strength, memory_seq, about FROM relation WHERE partition IN (:list:partitions)

-- name: add_to_community
INSERT INTO community (partition, name, number) VALUES (:partition, :name, :number) ON CONFLICT DO NOTHING

-- name: clear_communities_of
DELETE FROM community WHERE partition = :partition

-- name: any_community
SELECT 1 FROM community WHERE partition = :partition LIMIT 1

-- name: communities_of
SELECT partition, name, number FROM community WHERE partition IN (:list:partitions) AND name IN (:list:names)

-- name: members_of_community
SELECT name, memory_seq, said, type FROM mention
WHERE partition = :partition AND name IN (
    SELECT name FROM community WHERE community.partition = :partition AND number = :number
)

-- name: count_communities
SELECT partition, count(*), max(number) FROM community WHERE partition IN (:list:partitions) GROUP BY partition

-- name: names_without_community
SELECT name FROM (SELECT DISTINCT name FROM mention WHERE partition = :partition) AS said WHERE NOT EXISTS (
    SELECT 1 FROM community WHERE community.partition = :partition AND community.name = said.name
)

-- name: forget_lonely_names
DELETE FROM community WHERE NOT EXISTS (
    SELECT 1 FROM mention WHERE mention.partition = community.partition AND mention.name = community.name
)

-- name: put_reflection
INSERT INTO reflection (id, project, agent, session, client, at, source, more)
VALUES (:id, :project, :agent, :session, :client, :at, :source, :more)

-- name: change_reflection
UPDATE reflection SET more = :more WHERE id = :id

-- name: waiting_proposals
SELECT count(*) FROM proposal WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1)
  AND state IN ('pending', 'prepared') AND level <> 'low'

-- name: list_reflections
SELECT id, project, agent, session, client, at, source, more FROM reflection
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) AND (session = :session OR :session = '')
  AND (id = :id OR :id = '')
ORDER BY at DESC, id DESC LIMIT :limit

-- name: put_proposal
INSERT INTO proposal (id, reflection, project, agent, numbering, label, route, level, state, approval, more)
VALUES (:id, :reflection, :project, :agent, :number, :label, :route, :level, :state, :approval, :more)

-- name: change_proposal
UPDATE proposal SET state = :state, approval = :approval, more = :more WHERE id = :id

-- name: open_proposals
SELECT id, reflection, numbering, label, route, level, state, approval, more FROM proposal
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) AND state IN ('pending', 'prepared', 'approved')
ORDER BY numbering, seq

-- name: proposals_of
SELECT id, reflection, numbering, label, route, level, state, approval, more FROM proposal
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) AND (reflection = :reflection OR :reflection = '')
  AND (approval = :approval OR :approval = '')
ORDER BY seq DESC LIMIT :limit

-- name: count_proposals
SELECT route, level, state, count(*) FROM proposal
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) GROUP BY route, level, state

-- name: drop_reflections_of_session
DELETE FROM reflection WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) AND session = :session

-- name: drop_proposals_of_session
DELETE FROM proposal WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) AND reflection IN (
    SELECT id FROM reflection WHERE project IN (:list:projects) AND session = :session
)

-- name: proposals_of_session
SELECT id, reflection, numbering, label, route, level, state, approval, more FROM proposal
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) AND reflection IN (
    SELECT id FROM reflection WHERE project IN (:list:projects) AND session = :session
)

-- name: drop_proposal
DELETE FROM proposal WHERE id = :id

-- name: put_approval
INSERT INTO approval (id, project, agent, at, state, more) VALUES (:id, :project, :agent, :at, :state, :more)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, more = excluded.more

-- name: open_approvals
SELECT id, project, agent, at, state, more FROM approval
WHERE project IN (:list:projects) AND (agent = :agent OR :every = 1) AND state <> 'done' ORDER BY at, id

-- name: get_approval
SELECT id, project, agent, at, state, more FROM approval
WHERE id = :id AND project IN (:list:projects) AND (agent = :agent OR :every = 1)

-- name: add_token
INSERT INTO token (id, mark, project, agent, role, folder, created_at, created_by, expires_at)
VALUES (:id, :mark, :project, :agent, :role, :folder, :created_at, :created_by, :expires_at)

-- name: proof_message
SELECT id FROM message WHERE id = :id

-- name: find_token
SELECT mark, id, project, agent, role, folder, created_at, created_by, expires_at, used_at, revoked_at
FROM token WHERE id = :id

-- name: list_tokens
SELECT id, project, agent, role, folder, created_at, created_by, expires_at, used_at, revoked_at
FROM token WHERE :every = 1 OR project IN (:list:projects) ORDER BY created_at DESC, id

-- name: use_token
UPDATE token SET used_at = :at WHERE id = :id

-- name: revoke_token
UPDATE token SET revoked_at = :at WHERE id = :id AND revoked_at IS NULL

-- name: find_answer
SELECT asked, answer FROM answered WHERE token = :token AND name = :name

-- name: put_answer
INSERT INTO answered (token, name, asked, answer, at) VALUES (:token, :name, :asked, :answer, :at)

-- name: prune_answers
DELETE FROM answered WHERE at < :before

-- name: clear_answers
DELETE FROM answered
