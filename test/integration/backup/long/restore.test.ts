import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readPurgeSecret } from '../../../../src/config/data-folder.ts';
import { createPurgeKey } from '../../../../src/purge/purge-key.ts';
import { requireDone, type CliResult } from '../../../support/processes/cli.ts';
import { makeFolders } from '../../../support/store/backup-folders.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { withStore } from '../../../support/store/kept-folder.ts';
import {
  buildDecision,
  buildScore,
  buildSpan,
  newTraceId,
  spanBlock,
} from '../../../support/store/store-rows.ts';

describe('a backup that is damaged', () => {
  const folders = makeFolders();

  it('leaves a directory that only the next restore may use', async () => {
    await withStore(folders.original, async (store) => {
      await store.decisions.write([buildDecision()]);
      requireDone(await folders.backup());
    });
    const file = join(folders.copy, 'backup.json');
    const manifest = readFileSync(file, 'utf8');
    writeFileSync(file, manifest.replace(/("decisions": \{\s*"rows": )/u, '$12'));

    const damaged = await folders.restore();
    const opened = await folders.run('scores', '--data-dir', folders.restored);
    writeFileSync(file, manifest);
    const again = await folders.restore();

    expect(damaged).toMatchObject({ code: 1 });
    expect(damaged.stderr).toContain('the table decisions of the backup is damaged: it has 1 rows');
    expect(opened.stderr).toContain('spanscore restore has not finished with it');
    requireDone(again);
  });
});

describe('a restore of tables that do not agree', () => {
  const folders = makeFolders();
  const lost = buildDecision({ scorer: 'grounding' });
  const ofBackfill = buildDecision({ rule: 'backfill:b1' });
  const panel = buildDecision({ scorer: 'panel' });
  const scored = buildDecision();
  const purged = newTraceId();
  let done: CliResult;

  beforeAll(async () => {
    await withStore(folders.original, async (store) => {
      await store.decisions.write([
        lost,
        ofBackfill,
        panel,
        scored,
        buildDecision({ status: 'sampled_out' }),
        buildDecision({ traceId: purged }),
      ]);
      await store.scores.write([
        buildScore({ traceId: scored.traceId }),
        buildScore({ traceId: panel.traceId, scorer: 'panel-tone' }),
        buildScore({ traceId: purged }),
        // Of another target.
        buildScore({ traceId: lost.traceId, targetId: `${lost.traceId}/2`, scorer: 'grounding' }),
      ]);
      await store.sink.insert(spanBlock([buildSpan({ traceId: purged })]), 'four');
      const key = createPurgeKey(readPurgeSecret(folders.original));
      const hash = key.compute('trace', '', purged);
      const { keyId } = key;
      await store.tombstones.write({ kind: 'trace', tenant: '', hash, keyId }, 'job');
      requireDone(await folders.backup());
    });
    done = await folders.restore('--json');
  });

  it('reopens decisions whose score is not there, and no others', async () => {
    requireDone(done);
    expect(JSON.parse(done.stdout)).toMatchObject({ reopened: 2 });
    await withStore(folders.restored, async (store) => {
      const untilMs = await store.spans.nowMs();
      const due = await store.decisions.due({ untilMs, shards: null, limit: 10 });
      expect(due).toEqual([expect.objectContaining({ traceId: lost.traceId, attempts: 1 })]);
      expect(due[0]?.reason).toContain('score_lost');
      const [failed] = [...(await store.decisions.ofTraces([ofBackfill])).values()].flat();
      expect(failed).toMatchObject({ status: 'failed', nextAttemptAt: null });
      const kept = await store.decisions.ofTraces([panel, scored]);
      expect([...kept.values()].flat().map(({ status }) => status)).toEqual(['scored', 'scored']);
    });
  });

  it('deletes what has a tombstone, and brings the key of tombstones along', async () => {
    const { purged: rows } = JSON.parse(done.stdout) as { purged: Record<string, number> };
    expect(rows).toMatchObject({ otel_traces: 1, scores: 1, decisions: 1, trace_arrivals: 1 });
    await withStore(folders.restored, async (_, address) => {
      const left = await queryRows<{ n: string }>(
        address,
        `SELECT count() AS n FROM (SELECT TraceId FROM otel_traces UNION ALL SELECT TraceId FROM scores
         UNION ALL SELECT TraceId FROM decisions UNION ALL SELECT TraceId FROM trace_arrivals) WHERE TraceId = '${purged}'`,
      );
      expect(left).toEqual([{ n: '0' }]);
      expect(await queryRows(address, 'SELECT Id FROM purge_items')).toEqual([]);
    });
    const key = (folder: string) => readFileSync(join(folder, 'purge.key'), 'utf8');
    expect(key(folders.restored)).toBe(key(folders.original));
  });

  it('needs the key of the backup', async () => {
    const other = `${folders.restored}-2`;
    mkdirSync(other);
    writeFileSync(join(other, 'purge.key'), 'another key\n');

    const refused = await folders.run('restore', '--from', folders.copy, '--data-dir', other);

    expect(refused).toMatchObject({ code: 78 });
    expect(refused.stderr).toContain('is another key than that of the backup');
  });
});
