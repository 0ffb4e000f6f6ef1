import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { readScoreLines } from '../../../../src/cli/commands/alerts.ts';
import { readPasswordFile } from '../../../../src/cli/input/input-file.ts';
import { parseLabels, readLabelText } from '../../../../src/cli/input/label-file.ts';
import { readTraceFiles } from '../../../../src/cli/input/trace-files.ts';
import { readConfigFile } from '../../../../src/config/files/config-file.ts';
import { loadMonitorFiles, loadRuleFile } from '../../../../src/config/files/side-files.ts';
import { decodeTraces } from '../../../../src/conventions/index.ts';
import { decodeTextChunks } from '../../../../src/domain/text-encoding.ts';
import type { Output } from '../../../../src/cli/show/output.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { jsonSpan, traceRequest } from '../../../support/builders/otlp-requests.ts';
import { emptyFolder } from '../../../support/processes/cli.ts';

const SIGN = 'größer 価値 🎉';
const MARKED = (text: string) => `\uFEFF${text}`;

/** Encodings of a text. */
const ENCODINGS: [string, (text: string) => Buffer][] = [
  ['UTF-8', (text) => Buffer.from(text)],
  ['UTF-8 with a byte order mark', (text) => Buffer.from(MARKED(text))],
  ['UTF-16 LE', (text) => Buffer.from(MARKED(text), 'utf16le')],
  ['UTF-16 BE', (text) => Buffer.from(MARKED(text), 'utf16le').swap16()],
];

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const REQUEST = JSON.stringify(traceRequest([jsonSpan({ traceId: TRACE, name: SIGN })]));

let cwd: string;

beforeEach(() => {
  cwd = emptyFolder();
});

async function* noInput() {}
const context = () => ({ cwd, stdin: noInput() });

async function readSpanNames(file: string): Promise<string[]> {
  const names: string[] = [];
  await readTraceFiles(
    [file],
    { ...context(), log: silentLog, out: { talk: (text: string) => names.push(text) } as unknown as Output },
    (parts) => names.push(...parts.flatMap(({ spans }) => spans.map(({ name }) => name))),
  );
  return names;
}

async function readSeriesNames(file: string): Promise<(string | undefined)[]> {
  const names: (string | undefined)[] = [];
  for await (const { series } of readScoreLines(file, context())) {
    names.push(series.name);
  }
  return names;
}

/** Reader, name of its file, text, and what is read of it: the sign. */
const READERS: [string, string, string, (file: string, bytes: Buffer) => Promise<unknown>][] = [
  [
    'labels as CSV',
    'a.csv',
    `traceId,scorer,score,note\n${TRACE},tone,1,${SIGN}\n`,
    async (file) => parseLabels(await readLabelText(file, context()), 'csv').map((each) => noteOf(each)),
  ],
  [
    'labels as lines of JSON',
    'a.ndjson',
    `${JSON.stringify({ traceId: TRACE, scorer: 'tone', score: 1, note: SIGN })}\n`,
    async (file) => parseLabels(await readLabelText(file, context()), 'ndjson').map((each) => noteOf(each)),
  ],
  [
    'scores',
    'a.ndjson',
    `{"series":"${SIGN}","scoredAt":"2026-01-01T00:03:10Z","score":0.83}\n`,
    (file) => readSeriesNames(file),
  ],
  ['traces, a request on each line', 'a.jsonl', `${REQUEST}\n`, (file) => readSpanNames(file)],
  [
    'traces in one document',
    'a.json',
    JSON.stringify([JSON.parse(REQUEST)], null, 2),
    (file) => readSpanNames(file),
  ],
  [
    'traces of a program',
    'a.json',
    REQUEST,
    async (_, bytes) => decodeTraces(bytes).traces.flatMap(({ spans }) => spans.map(({ name }) => name)),
  ],
  [
    'a configuration as YAML',
    'a.yaml',
    `key: ${SIGN}\n`,
    async (file) => Object.values((await readConfigFile(join(cwd, file))).value as object),
  ],
  [
    'a configuration as JSON',
    'a.json',
    JSON.stringify({ key: SIGN }),
    async (file) => Object.values((await readConfigFile(join(cwd, file))).value as object),
  ],
  [
    'monitor rules',
    'a.yaml',
    `groups:\n  - name: ${SIGN}\n    rules:\n      - { alert: low, detector: threshold, minimum: 0.5 }\n`,
    async (file) =>
      (await loadMonitorFiles([file], cwd)).flatMap(({ groups }) => groups.map(({ name }) => name)),
  ],
  [
    'rules beside the configuration',
    'a.yaml',
    `rules:\n  - { name: a, scorers: [tone], where: { service: ${SIGN} } }\n`,
    async (file) => (await loadRuleFile(join(cwd, file))).rules.map(({ where }) => String(where?.service)),
  ],
  ['a password', 'a.txt', `${SIGN}\r\n`, async (file) => [await readPasswordFile(cwd, file)]],
];

function noteOf(line: ReturnType<typeof parseLabels>[number]): unknown {
  return 'fault' in line ? line.fault : line.label.note;
}

describe.each(ENCODINGS)('a text file in %s', (_, encode) => {
  it.each(READERS)('is read as its text: %s', async (_reader, file, text, read) => {
    const bytes = encode(text);
    writeFileSync(join(cwd, file), bytes);
    expect(await read(file, bytes)).toEqual([SIGN]);
  });

  it('is read as its text in chunks of one byte', async () => {
    async function* bytes() {
      for (const byte of encode(SIGN)) {
        yield Buffer.from([byte]);
      }
    }
    expect(await textOf(decodeTextChunks(bytes()))).toBe(SIGN);
  });

  it('is empty without characters', async () => {
    async function* bytes() {
      yield encode('');
    }
    expect(await textOf(decodeTextChunks(bytes()))).toBe('');
  });
});
