import { describe, expect, it } from 'vitest';
import { renderStatement } from '../../../../src/store/cluster/render-statement.ts';
import { readSchema } from '../../../../src/store/schema/schema-file.ts';

const CLUSTER = { name: 'main', database: 'quality' };

const render = (statement: string) => renderStatement(statement, CLUSTER);

describe('a statement of the schema, rendered for a cluster', () => {
  it('makes a table of traces replicated within a shard, and distributed under its old name', () => {
    const decisions = `CREATE TABLE IF NOT EXISTS decisions
(
    \`TraceId\` String,
    \`Version\` UInt64
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY TraceId
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000`;

    expect(render(decisions)).toEqual([
      `CREATE TABLE IF NOT EXISTS decisions_local ON CLUSTER \`main\`
(
    \`TraceId\` String,
    \`Version\` UInt64
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/spanscore/main/shards/{shard}/quality/decisions', '{replica}', Version)
ORDER BY TraceId
SETTINGS index_granularity = 1024, replicated_deduplication_window = 1000, replicated_deduplication_window_seconds = 315360000`,
      `CREATE TABLE IF NOT EXISTS decisions ON CLUSTER \`main\` AS decisions_local
ENGINE = Distributed('main', 'quality', 'decisions_local', cityHash64(TraceId))`,
    ]);
  });

  it('makes all servers replicas of a table of state, which repeats rows as it did before', () => {
    const members = `CREATE TABLE IF NOT EXISTS members
(
    \`Member\` String
)
ENGINE = ReplacingMergeTree(BeatAt)
ORDER BY Member
TTL toDateTime(BeatAt) + toIntervalDay(1)`;

    expect(render(members)).toEqual([
      `CREATE TABLE IF NOT EXISTS members ON CLUSTER \`main\`
(
    \`Member\` String
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/spanscore/main/all/quality/members', '{shard}-{replica}', BeatAt)
ORDER BY Member
TTL toDateTime(BeatAt) + toIntervalDay(1)
SETTINGS replicated_deduplication_window = 0`,
    ]);
  });

  it('has views read and write the rows of their server', () => {
    expect(
      render(
        'CREATE MATERIALIZED VIEW IF NOT EXISTS run_starts_of_runs TO run_starts AS\nSELECT runs.TraceId\nFROM runs\nWHERE 1',
      ),
    ).toEqual([
      'CREATE MATERIALIZED VIEW IF NOT EXISTS run_starts_of_runs ON CLUSTER `main` TO run_starts_local AS\nSELECT runs.TraceId\nFROM runs_local AS runs\nWHERE 1',
    ]);
    expect(
      render('ALTER TABLE deploy_markers_of_scores MODIFY QUERY\nSELECT Agent\nFROM scores\nWHERE 1'),
    ).toEqual([
      'ALTER TABLE deploy_markers_of_scores ON CLUSTER `main` MODIFY QUERY\nSELECT Agent\nFROM scores_local AS scores\nWHERE 1',
    ]);
  });

  it('gives a distributed table the new columns of its rows', () => {
    expect(render('ALTER TABLE scores\n    ADD COLUMN IF NOT EXISTS `A` String')).toEqual([
      'ALTER TABLE scores_local ON CLUSTER `main` ADD COLUMN IF NOT EXISTS `A` String',
      "CREATE OR REPLACE TABLE scores ON CLUSTER `main` AS scores_local\nENGINE = Distributed('main', 'quality', 'scores_local', cityHash64(TraceId))",
    ]);
    expect(render('ALTER TABLE scores\n    ADD INDEX IF NOT EXISTS a A TYPE minmax GRANULARITY 1')).toEqual([
      'ALTER TABLE scores_local ON CLUSTER `main` ADD INDEX IF NOT EXISTS a A TYPE minmax GRANULARITY 1',
    ]);
  });

  it('alters state on one server, which tells the others', () => {
    expect(render('ALTER TABLE spend\n    ADD COLUMN IF NOT EXISTS `A` String')).toEqual([
      'ALTER TABLE spend ADD COLUMN IF NOT EXISTS `A` String',
    ]);
  });

  it('copies rows through the distributed tables', () => {
    const copy = 'INSERT INTO run_starts\nSELECT TraceId\nFROM runs';
    expect(render(copy)).toEqual([copy]);
  });

  it.each([
    'DROP TABLE scores',
    'CREATE TABLE IF NOT EXISTS unplaced\n(\n    `A` String\n)\nENGINE = MergeTree\nORDER BY A',
    'CREATE TABLE IF NOT EXISTS scores\n(\n    `A` String\n)\nENGINE = Memory',
    'CREATE MATERIALIZED VIEW IF NOT EXISTS v TO runs AS\nSELECT 1 FROM scores JOIN (SELECT 1 FROM runs) USING A',
  ])('is refused when its kind is not known: %s', (statement) => {
    expect(() => render(statement)).toThrow('not known for clusters');
  });

  it('names no table of one server in any statement of the schema', () => {
    const rendered = readSchema().statements.flatMap(render);

    expect(rendered.length).toBeGreaterThan(50);
    for (const statement of rendered.filter((each) => each.startsWith('CREATE TABLE'))) {
      expect(statement).toMatch(/\nENGINE = (?:Replicated\w*MergeTree|Distributed)\(/u);
      expect(statement).not.toMatch(/\bnon_replicated_/u);
    }
  });
});
