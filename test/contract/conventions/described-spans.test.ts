import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import { answerText, invocationParts, textOfMessage } from '../../support/recordings/facts.ts';

/** Expected facts of a described case; absent facts are not compared. */
interface Described {
  agent?: string;
  system?: string;
  input?: string;
  answer?: string;
  tools?: [name: string, args: unknown, result: unknown][];
  usage?: string;
  model?: string;
  session?: string;
  user?: string;
  context?: string[];
  notScorable?: string;
}

const FOLDER = new URL('../../fixtures/spans-spec/', import.meta.url);

const cases = Object.entries(
  JSON.parse(readFileSync(new URL('expected.json', FOLDER), 'utf8')) as Record<string, Described>,
);

function buildSummary(run: AgentRun): Described {
  return {
    agent: run.agent ?? '',
    system: run.input.systemMessages
      .map(({ content }) =>
        typeof content === 'string' ? content : content.map((part) => part.text).join(''),
      )
      .join('\n'),
    input: run.input.inputMessages.map(textOfMessage).join('\n'),
    answer: answerText(run),
    tools: invocationParts(run.output).map(({ toolInvocation: call }) => [
      call.toolName,
      call.args,
      call.state === 'output-error' ? `error: ${call.errorText}` : call.result,
    ]),
    usage: `${run.usage.inputTokens}/${run.usage.outputTokens}`,
    model: run.models[0] ?? '',
    session: run.sessionId ?? '',
    user: run.userId ?? '',
    context: run.context,
    ...(run.notScorable === null ? {} : { notScorable: run.notScorable.code }),
  };
}

describe('emitters of which only spans or descriptions are at hand', () => {
  it.each(cases)('%s', (name, expected) => {
    const readings = readTraces(readFileSync(new URL(`${name}.traces.jsonl`, FOLDER), 'utf8'));
    const runs = readings.flatMap((reading) => reading.runs);
    expect(runs).toHaveLength(1);
    const { notScorable, ...summary } = buildSummary(runs[0] as AgentRun);
    expect(notScorable).toBe(expected.notScorable);
    expect(summary).toMatchObject(
      Object.fromEntries(Object.entries(expected).filter(([key]) => key !== 'notScorable')),
    );
    expect(readings.flatMap((reading) => reading.notUnderstood)).toEqual([]);
  });
});
