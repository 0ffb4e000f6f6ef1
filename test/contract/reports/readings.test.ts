import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import { answerText, invocationParts, textOfMessage } from '../../support/recordings/facts.ts';

const FOLDER = new URL('../../fixtures/reports/', import.meta.url);

function readCase(name: string, file = 'spans.jsonl'): Map<string, AgentRun[]> {
  const text = readFileSync(new URL(`${name}/${file}`, FOLDER), 'utf8');
  return new Map(readTraces(text).map(({ traceId, runs }) => [traceId, runs]));
}

function readExpected(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`${name}/expected.json`, FOLDER), 'utf8'));
}

describe('a trace of two agents in two services', () => {
  it.each(['spans.jsonl', 'spans-reversed.jsonl'])('has the answer of its root (%s)', (file) => {
    const runs = [...readCase('07-delegated-answer', file).values()].flat();
    expect(
      runs.map((run) => ({
        agent: run.agent,
        question: run.input.inputMessages.map(textOfMessage).join(''),
        answer: answerText(run),
        context: run.context,
        subRuns: run.subRuns.map(({ agent }) => agent),
      })),
    ).toEqual([readExpected('07-delegated-answer')]);
  });
});

it.each(Object.entries(readExpected('28-equal-call-ids') as Record<string, Record<string, string>>))(
  'each of the parallel calls of trace %s has its own result',
  (traceId, expected) => {
    const [run] = readCase('28-equal-call-ids').get(traceId) ?? [];
    const calls = invocationParts(run?.output ?? []).map(({ toolInvocation: one }) => [
      (one.args as { city: string }).city,
      one.result,
    ]);
    expect(Object.fromEntries(calls)).toEqual(expected);
  },
);

it.each(Object.entries(readExpected('29-mcp-is-error') as Record<string, boolean>))(
  'the call of trace %s failed: %s',
  (traceId, failed) => {
    const [run] = readCase('29-mcp-is-error').get(traceId) ?? [];
    const calls = invocationParts(run?.output ?? []).map(({ toolInvocation: one }) => one);
    expect(calls).toMatchObject(
      failed ? [{ state: 'output-error', errorText: 'upstream timed out' }] : [{ state: 'result' }],
    );
  },
);
