import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findTraceFiles, readTraceFiles } from '../../../src/cli/input/trace-files.ts';
import type { Output } from '../../../src/cli/show/output.ts';
import { InvalidInputError, NotFoundError } from '../../../src/domain/errors.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spanscore-files-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function write(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function request(digit: string, spanId = digit): object {
  const span = { traceId: digit.repeat(32), spanId: spanId.repeat(16), name: 'step', startTimeUnixNano: '1' };
  return { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
}

const json = (value: object) => JSON.stringify(value);

/** Reads files. Returns the first digits of the trace ids as they come, and what was printed. */
async function read(inputs: readonly string[], { stdin = '', chunk = 7, maxBytes = Infinity } = {}) {
  const messages: string[] = [];
  const bytes = Buffer.from(stdin);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunk) {
      yield bytes.subarray(at, at + chunk);
    }
  }
  const traces: string[] = [];
  const out: Output = {
    json: true,
    item: async () => undefined,
    list: async () => undefined,
    document: async () => undefined,
    text: async () => undefined,
    raw: async () => undefined,
    talk: (message) => void messages.push(message),
    progress: () => undefined,
  };
  const context = {
    cwd: folder,
    stdin: chunks(),
    log: silentLog,
    out,
  };
  await readTraceFiles(
    inputs,
    context,
    (parts) => traces.push(...parts.map(({ traceId }) => traceId[0] ?? '')),
    maxBytes,
  );
  return { traces, messages: messages.join('\n') };
}

describe('files of traces', () => {
  it.each([
    ['lines of requests', `${json(request('a'))}\n${json(request('b'))}\n`],
    [
      'lines with the ends of Windows and a mark of the byte order',
      `\uFEFF${json(request('a'))}\r\n\r\n${json(request('b'))}`,
    ],
    ['a list of requests on one line', json([request('a'), request('b')])],
    ['an indented list of requests', JSON.stringify([request('a'), request('b')], null, 2)],
    ['a list with a request on each line', `[\n${json(request('a'))},\n${json(request('b'))}\n]\n`],
    ['lines after one that is no JSON', `oh\n${json(request('a'))}\n${json(request('b'))}\n`],
  ])('may be %s', async (_, text) => {
    write('spans.json', text);

    expect((await read(['spans.json'])).traces).toEqual(['a', 'b']);
    expect((await read(['-'], { stdin: text })).traces).toEqual(['a', 'b']);
  });

  it('are read in order, each once, by names and patterns', async () => {
    const b = write('b.jsonl', json(request('b')));
    const a = write('a.jsonl', json(request('a')));
    const deep = write('deep/down/c.jsonl', json(request('c')));
    write('notes.txt', 'no spans');

    expect(await findTraceFiles(['*.jsonl'], { cwd: folder })).toEqual([a, b]);
    expect(await findTraceFiles(['b.jsonl', '**/*.jsonl'], { cwd: folder })).toEqual([b, a, deep]);
    expect((await read(['**/*.jsonl', 'a.jsonl'])).traces).toEqual(['a', 'b', 'c']);
  });

  it('may have names that look like patterns', async () => {
    write('[a].jsonl', json(request('a')));

    expect((await read(['[a].jsonl'])).traces).toEqual(['a']);
  });

  it('that do not exist are missed before the first one is read', async () => {
    write('a.jsonl', json(request('a')));

    await expect(read(['a.jsonl', 'b.jsonl'])).rejects.toThrow(NotFoundError);
    await expect(read(['a.jsonl', '*.ndjson'])).rejects.toThrow(/\*\.ndjson: no file has a name like this/);
    await expect(read(['.'])).rejects.toThrow(/is not a file/);
  });

  it('are read on past their faults, which are named with file and line', async () => {
    write('a.jsonl', `${json(request('a'))}\n{"resourceSpans":\n${json(request('b', 'z'))}\n`);
    write('b.jsonl', `${json(request('c'))}\n${'oh\n'.repeat(9)}`);

    const { traces, messages } = await read(['a.jsonl', 'b.jsonl']);

    expect(traces).toEqual(['a', 'c']);
    expect(messages).toMatch(/skipped: .*a\.jsonl: line 2 is not JSON/);
    expect(messages).toMatch(/skipped: .*a\.jsonl: line 3: /);
    expect(messages).toMatch(/skipped: .*b\.jsonl: line 2 is not JSON/);
    expect(messages).toContain('skipped: 6 more');
  });

  it('have a limit where all of them stay in memory', async () => {
    write('a.jsonl', json(request('a')));

    await expect(read(['a.jsonl'], { maxBytes: 20 })).rejects.toThrow(InvalidInputError);
  });
});
