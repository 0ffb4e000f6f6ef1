import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode, InvalidInputError, RequestError, readErrorMessage } from '../../domain/errors.ts';
import type { RecordedCall, WholeCase } from '../../domain/issue-case.ts';

/** Files of an export, which the next one replaces; `agent.mjs` is the user's from the first export on. */
const FILES = {
  cases: 'cases.jsonl',
  expect: 'otlp/expect.json',
  test: 'issue.test.mjs',
  agent: 'agent.mjs',
  mastra: 'mastra.json',
};

const CASE_FILE = /^[0-9a-f]{12}\.jsonl$/;

/** Writes the cases of an issue in all forms. Throws a `RequestError` for a folder with other files and no earlier export. */
export async function writeCases(folder: string, title: string, cases: readonly WholeCase[]): Promise<void> {
  try {
    await mkdir(join(folder, 'otlp'), { recursive: true });
    await removeEarlier(folder);
    await Promise.all([
      ...listFiles(title, cases).map(async ([name, text]) =>
        writeFile(join(folder, name), text, { mode: 0o600 }),
      ),
      // A file that is there is the user's own.
      writeFile(join(folder, FILES.agent), AGENT, { flag: 'wx', mode: 0o600 }).catch(ignoreExisting),
    ]);
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) {
      throw new InvalidInputError(`--out ${folder} cannot be written: ${readErrorMessage(error)}`);
    }
    throw error;
  }
}

/** Throws a `RequestError` for a folder that holds files and no earlier export. */
export async function checkCaseFolder(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) {
      return [];
    }
    throw new InvalidInputError(`--out ${folder} cannot be read: ${readErrorMessage(error)}`);
  });
  if (names.length > 0 && !(await isExport(folder))) {
    throw new RequestError(
      `--out ${folder} holds other files: name an empty folder, or one with an earlier export`,
    );
  }
}

async function isExport(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, FILES.cases), 'utf8').catch(() => '');
  try {
    const first = JSON.parse(text.split('\n', 1)[0] ?? '') as {
      readonly metadata?: { readonly issue?: unknown };
    };
    return typeof first.metadata?.issue === 'string';
  } catch {
    return false;
  }
}

async function removeEarlier(folder: string): Promise<void> {
  const names = await readdir(join(folder, 'otlp'));
  await Promise.all(
    names.filter((name) => CASE_FILE.test(name)).map(async (name) => rm(join(folder, 'otlp', name))),
  );
}

function ignoreExisting(error: unknown): void {
  if (!hasCode(error, 'EEXIST')) {
    throw error;
  }
}

function listFiles(title: string, cases: readonly WholeCase[]): [name: string, text: string][] {
  const scored = cases.filter(({ shown }) => shown.metadata.expect !== null);
  return [
    [FILES.cases, writeLines(cases.map(({ shown }) => shown))],
    ...cases.map(({ shown, requests }): [string, string] => [`otlp/${shown.id}.jsonl`, writeLines(requests)]),
    [FILES.expect, writeJson(scored.map(buildExpected))],
    [FILES.mastra, writeJson(cases.map(buildMastraItem))],
    [FILES.test, writeTest(title, scored)],
  ];
}

function writeLines(values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}

function writeJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function buildExpected({ shown, spanId }: WholeCase) {
  const { id, metadata } = shown;
  const { traceId, expect } = metadata;
  return { case: id, file: `${id}.jsonl`, traceId, spanId, scorer: expect?.scorer, min: expect?.min };
}

/** Begin of the tool that hands a task to another agent: its arguments are written anew in each run. */
const DELEGATION = 'agent-';

function buildMastraItem({ shown, run }: WholeCase) {
  const { id, input, tags, metadata } = shown;
  return {
    id,
    externalId: id,
    input: run.messages.length > 1 ? run.messages : input,
    toolMocks: run.calls.map(buildMock),
    metadata: { ...metadata, tags },
  };
}

function buildMock({ toolName, args, result, error }: RecordedCall) {
  return {
    toolName,
    args,
    output: error === undefined ? result : { error },
    ...(toolName.startsWith(DELEGATION) ? { matchArgs: 'ignore' } : {}),
  };
}

function writeTest(title: string, cases: readonly WholeCase[]): string {
  const given = cases.map(({ shown: { id, output, metadata }, run }) => ({
    id,
    expect: metadata.expect,
    output,
    ...run,
  }));
  return `// ${title.replace(/\s+/gu, ' ')}
// Written by spanscore: the next export replaces this file. The agent under test is in agent.mjs.
import { test } from 'vitest';
import { replayCase } from 'spanscore/vitest';
import agent from './agent.mjs';

const cases = ${JSON.stringify(given, null, 2)};

test.each(cases)('$id: $expect.scorer', { timeout: 300_000 }, (each) => replayCase(each, agent, import.meta.dirname));
`;
}

const AGENT = `// Connect your agent: spanscore writes this file once and never replaces it.
// input: the question. messages: the question with the messages before it. callTool(name, args): the recorded result of a tool.
// Return the text of the answer, or the output of a Mastra agent (generate() with returnScorerData).
export default async function agent({ id, input, messages, callTool }) {
  throw new Error('connect your agent');
}
`;
