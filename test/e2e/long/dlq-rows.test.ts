import { NOTHING_PURGED } from '../../../src/store/contracts/purge.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BlockInserter } from '../../../collector/block-inserter.ts';
import { createCounter } from '../../../collector/counts.ts';
import { createInsertHealth } from '../../../collector/insert-health.ts';
import { DEFAULT_COLLECTOR_LIMITS } from '../../../collector/limits.ts';
import { decodeRequest } from '../../../collector/otlp/decode-request.ts';
import { connectStore, openConnectedStore } from '../../../src/store/connection/connect-store.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { StoreRejectedError } from '../../../src/domain/errors.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { emptyFolder, jsonLines, runCli } from '../../support/processes/cli.ts';
import { jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { recordingSink } from '../../support/fakes/recording-sink.ts';
import { newTraceId } from '../../support/store/store-rows.ts';

const folder = emptyFolder();
const traceId = newTraceId();

async function cli(...args: string[]) {
  const { code, stdout } = await runCli([...args, '--json'], { cwd: folder });
  return { code, rows: jsonLines(stdout) as Record<string, unknown>[] };
}

/** Leaves a row in the dead letters that the store refused at the time. */
beforeAll(async () => {
  writeFileSync(join(folder, 'spanscore.config.yaml'), 'rules: []\n');
  const connection = await connectStore(parseConfig({}, { cwd: folder }), silentLog);
  const store = await openConnectedStore(connection, silentLog);
  const sink = recordingSink();
  sink.before = () => {
    throw new StoreRejectedError('not today');
  };
  const inserter = new BlockInserter({
    purged: NOTHING_PURGED,
    sink,
    deadLetters: store.deadLetters,
    limits: DEFAULT_COLLECTOR_LIMITS,
    log: silentLog,
    counter: createCounter(),
    health: createInsertHealth(sink),
    newToken: () => 'block',
  });
  const body = Buffer.from(JSON.stringify(traceRequest([jsonSpan({ traceId })])));
  const { pieces } = decodeRequest('traces', 'json', body, '');
  const origin = { tenant: '', source: 'otlp-grpc' };
  await inserter.insert(
    'otel_traces',
    pieces.map((piece) => ({ piece, origin })),
  );
  await store.close();
  await connection.release();
});

describe('a row that the store refused', () => {
  it('is listed by dlq with its reason, stored by a replay, and then forgotten', async () => {
    const listed = await cli('dlq', 'list');
    expect(listed.rows).toMatchObject([
      { source: 'otlp-grpc', signal: 'traces', code: 'store_rejected', reason: 'not today', attempts: 1 },
    ]);
    expect(await cli('dlq', 'replay', '--all')).toMatchObject({ code: 0, rows: [{ taken: true }] });
    expect((await cli('traces', '--since', '9999d')).rows).toMatchObject([{ traceId }]);
    expect((await cli('dlq', 'list')).rows).toEqual([]);
  });
});
