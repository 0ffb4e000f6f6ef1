import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Answer, post } from '../../support/otlp-post.ts';
import { lengthField, spanBytes } from '../../support/otlp-proto-writer.ts';
import { attribute, jsonSpan } from '../../support/otlp-requests.ts';

const MIB = 1024 * 1024;
const PROGRAM = fileURLToPath(new URL('../../support/bare-collector.ts', import.meta.url));
/** The limit of bytes in flight, and what the collector of garbage is late with. */
const MOST_MIB = 256 + 64;
const AT_ONCE = 8;

/**
 * What a collector in a process of its own answers to so many gzipped requests, eight at once; its memory must not grow by more
 * than the limit.
 */
async function bombarded(body: Buffer, contentType: string, count: number): Promise<Answer[]> {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const told = async () => JSON.parse(String((await lines.next()).value)) as { port: number; mib: number };
  const before = await told();
  const address = { host: '127.0.0.1', port: before.port };
  const headers = { 'content-type': contentType, 'content-encoding': 'gzip' };
  const answers: Answer[] = [];
  while (answers.length < count) {
    const round = Array.from({ length: AT_ONCE }, () => post(address, { body, headers }));
    answers.push(...(await Promise.all(round)));
  }
  child.kill('SIGTERM');
  const most = await told();
  expect(most.mib - before.mib).toBeLessThan(MOST_MIB);
  return answers;
}

/** 64 MiB in 65 kB. */
function bombOf(content: Buffer): Buffer {
  const bomb = gzipSync(content, { level: 9 });
  expect([content.length > 63 * MIB, content.length <= 64 * MIB, bomb.length < 70_000]).toEqual([
    true,
    true,
    true,
  ]);
  return bomb;
}

describe('65 kB that hold 64 MB raise the memory by the limit at most', () => {
  it('a protobuf span of 64 MB is a partial success, or told to come again: 200, 429', async () => {
    const span = spanBytes(jsonSpan({ attributes: [attribute('a', 'x'.repeat(64 * MIB - 4096))] }));
    const bomb = bombOf(lengthField(1, lengthField(2, lengthField(2, span))));
    const answers = await bombarded(bomb, 'application/x-protobuf', 3 * AT_ONCE);
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
    const answers = await bombarded(bombOf(Buffer.from(text)), 'application/json', AT_ONCE);
    expect(answers.filter(({ status }) => status !== 413 && status !== 429)).toEqual([]);
    const refused = answers.filter(({ status }) => status === 413);
    expect(refused.filter(({ body }) => !body.includes('bytes allowed to read this JSON'))).toEqual([]);
    expect(refused.length).toBeGreaterThan(0);
  });
});
