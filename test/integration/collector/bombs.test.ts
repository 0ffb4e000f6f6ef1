import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Answer, post } from '../../support/collector/otlp-post.ts';
import { lengthField, requestBytes, spanBytes } from '../../support/builders/otlp-proto-writer.ts';
import { attribute, jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';

const MIB = 1024 * 1024;
const PROGRAM = fileURLToPath(new URL('../../support/collector/bare-collector.ts', import.meta.url));
/** Of bytes in flight. */
const LIMIT_MIB = 256;
/** Memory that late garbage collection may add, MiB. */
const LATE_MIB = 128;
const AT_ONCE = 8;
const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const GZIP = { 'content-encoding': 'gzip' };

interface Bombardment {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly count: number;
  readonly atOnce?: number;
  /** Its store takes nothing, and never answers. */
  readonly hangs?: boolean;
}

/**
 * Replies of a collector in a process of its own to the same request, many times at once; its memory must not grow above the
 * limit.
 */
async function bombarded({ body, headers, count, atOnce = AT_ONCE, hangs }: Bombardment): Promise<Answer[]> {
  const args = [PROGRAM, ...(hangs === true ? ['hangs'] : [])];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const told = async () => JSON.parse(String((await lines.next()).value)) as { port: number; mib: number };
  try {
    const before = await told();
    const address = { host: '127.0.0.1', port: before.port };
    const answers: Answer[] = [];
    const sendOn = async (): Promise<void> => {
      for (let n = 0; n < count / atOnce; n++) {
        answers.push(await post(address, { body, headers }));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, sendOn));
    child.kill('SIGTERM');
    const most = await told();
    expect(most.mib - before.mib).toBeLessThan(LIMIT_MIB + LATE_MIB);
    return answers;
  } finally {
    child.kill('SIGKILL');
  }
}

/** 64 MiB in 65 kB. */
function buildBomb(content: Buffer): Buffer {
  const bomb = gzipSync(content, { level: 9 });
  expect([content.length > 63 * MIB, content.length <= 64 * MIB, bomb.length < 70_000]).toEqual([
    true,
    true,
    true,
  ]);
  return bomb;
}

describe('65 kB that hold 64 MB raise the memory by the limit at most', () => {
  it('a protobuf span of 64 MB is a partial success, or asked to retry: 200, 429', async () => {
    const span = spanBytes(jsonSpan({ attributes: [attribute('a', 'x'.repeat(64 * MIB - 4096))] }));
    const bomb = buildBomb(lengthField(1, lengthField(2, lengthField(2, span))));
    const answers = await bombarded({ body: bomb, headers: { ...PROTOBUF, ...GZIP }, count: 3 * AT_ONCE });
    expect(answers.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
    const taken = answers.filter(({ status }) => status === 200);
    expect(taken.filter(({ body }) => !body.includes('more than the 8388608 allowed'))).toEqual([]);
    expect(taken.length).toBeGreaterThan(0);
  });

  it.each([
    ['lists', '[],'],
    ['texts', '"",'],
  ])('JSON of millions of empty %s is too large, or told to come again: 413, 429', async (_, unit) => {
    const text = `{"resourceSpans":[${unit.repeat((64 * MIB - 4096) / unit.length)}0]}`;
    const answers = await bombarded({ body: buildBomb(Buffer.from(text)), headers: GZIP, count: AT_ONCE });
    expect(answers.filter(({ status }) => status !== 413 && status !== 429)).toEqual([]);
    const refused = answers.filter(({ status }) => status === 413);
    expect(refused.filter(({ body }) => !body.includes('reading this JSON needs more than'))).toEqual([]);
    expect(refused.length).toBeGreaterThan(0);
  });
});

it('senders to a store that hangs are asked to retry: 503, 429; the memory grows by the limit at most', async () => {
  const text = randomBytes(512 * 1024).toString('hex');
  const body = requestBytes(traceRequest([jsonSpan({ attributes: [attribute('a', text)] })]));
  const pressing = { count: 512, atOnce: 64, hangs: true };
  const answers = await bombarded({ body, headers: PROTOBUF, ...pressing });
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503, 429]));
  expect(answers.filter(({ headers }) => headers['retry-after'] !== '1')).toEqual([]);
});
