import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import { readTrace } from '../../../src/conventions/traces/read-traces.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import { isCutFinish, readHalt } from '../../../src/domain/trace/halt.ts';
import { buildSpan, buildTrace, chatMessage, chatSpan, toolCall } from '../../support/builders/spans.ts';
import { invocationParts } from '../../support/recordings/facts.ts';

const FOLDER = new URL('../../fixtures/reports/', import.meta.url);

function readCase(name: string): { runs: Map<string, AgentRun>; expected: [string, unknown][] } {
  const readings = readTraces(readFileSync(new URL(`${name}/spans.jsonl`, FOLDER), 'utf8'));
  const text = readFileSync(new URL(`${name}/expected.json`, FOLDER), 'utf8');
  return {
    runs: new Map(readings.flatMap(({ traceId, runs }) => runs.map((run) => [traceId, run] as const))),
    expected: Object.entries(JSON.parse(text) as Record<string, unknown>),
  };
}

describe('runs that wait for a person', () => {
  const paused = readCase('31-interrupt-is-no-error');
  it.each(paused.expected)('an interrupt is no failed tool in %s: failed %s', (traceId, isFailed) => {
    const run = paused.runs.get(traceId);
    const states = invocationParts(run?.output ?? []).map(({ toolInvocation }) => toolInvocation.state);
    expect(states).toEqual([isFailed === true ? 'output-error' : 'call']);
    expect(run).toMatchObject({ scorable: isFailed, status: 'ok' });
    expect(run?.notScorable?.code).toBe(isFailed === true ? undefined : 'run_waiting');
  });

  const asking = readCase('40-waiting-for-a-person');
  it.each(asking.expected)('a turn without an answer waits in %s: scorable %s', (traceId, isScorable) => {
    expect(asking.runs.get(traceId)?.scorable).toBe(isScorable);
  });

  it('an interrupted tool that ran again has its result, and the run is scored', () => {
    const call = toolCall('c1', 'refund', { order: 7 });
    const tool = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'refund',
      'gen_ai.tool.call.id': 'c1',
    };
    const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'shop' };
    const first = [
      buildSpan('run', agent, { lasts: 500 }),
      chatSpan('ask', { output: [chatMessage('assistant', call)] }, { parent: 'run', at: 1 }),
      buildSpan(
        'try',
        { ...tool, 'error.type': 'GraphInterrupt' },
        { parent: 'run', at: 20, error: 'approve?' },
      ),
    ];
    const rest = [
      buildSpan('again', { ...tool, 'gen_ai.tool.call.result': 'done' }, { parent: 'run', at: 200 }),
      chatSpan('say', { output: [chatMessage('assistant', 'Refunded.')] }, { parent: 'run', at: 300 }),
    ];
    expect(readTrace(buildTrace(first)).runs[0]?.notScorable?.code).toBe('run_waiting');
    const whole = readTrace(buildTrace([...first, ...rest])).runs[0];
    expect(whole).toMatchObject({ scorable: true, context: ['done'] });
    expect(invocationParts(whole?.output ?? [])).toHaveLength(1);
  });
});

describe('stops that are no failures', () => {
  it.each([
    ['langgraph.errors.GraphInterrupt', '', 'waiting'],
    ['langgraph.errors.ParentCommand', "Command(graph='__parent__', goto='billing')", 'waiting'],
    ['Error', "NodeInterrupt: (Interrupt(value='x'),)", 'waiting'],
    [null, "(Interrupt(value='x'),)", 'waiting'],
    ['pydantic_ai.exceptions.ApprovalRequired', '', 'waiting'],
    ['AUTH0_AI_INTERRUPT', '', 'waiting'],
    ['ABORT_ERR', 'The operation was aborted', 'cancelled'],
    ['20', 'This operation was aborted', 'cancelled'],
    ['20', 'no such table', undefined],
    ['ERR_CANCELED', 'canceled', 'cancelled'],
    ['asyncio.exceptions.CancelledError', '', 'cancelled'],
    ['DOMException [AbortError]', 'This operation was aborted', 'cancelled'],
    ['*errors.errorString', 'rpc error: context canceled', 'cancelled'],
    [
      'System.Threading.Tasks.TaskCanceledException',
      'canceled due to the configured Timeout: timed out',
      undefined,
    ],
    ['InterruptedError', 'the connection broke', undefined],
    ['GraphInterruptError2', '', undefined],
    ['Error', 'the order was cancelled', undefined],
  ])('the exception %s with the message %j is %s', (type, message, expected) => {
    expect(readHalt({ type, message })).toBe(expected);
  });

  it('a cancelled run is not scored, and has no error', () => {
    const agent = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'shop',
      'error.type': 'CancelledError',
    };
    const { runs } = readTrace(
      buildTrace([
        buildSpan('run', agent, { lasts: 90, error: '' }),
        chatSpan('say', { output: [chatMessage('assistant', 'I beg')] }, { parent: 'run', at: 1 }),
      ]),
    );
    expect(runs[0]).toMatchObject({ status: 'ok', error: null, notScorable: { code: 'run_cancelled' } });
  });
});

describe('an answer that was cut at the output limit', () => {
  it.each(['length', 'max_tokens', 'MAX_TOKENS', 'FinishReason.MAX_TOKENS', 'max_output_tokens'])(
    'has a warning for the finish reason %s',
    (reason) => {
      const said = {
        role: 'assistant',
        parts: [{ type: 'text', content: 'It rains' }],
        finish_reason: reason,
      };
      const { runs } = readTrace(buildTrace([chatSpan('say', { output: [said] })]));
      expect(isCutFinish(reason)).toBe(true);
      expect(runs[0]?.warnings.map(({ code }) => code)).toEqual(['answer_cut']);
    },
  );
});

describe('cached tokens', () => {
  const cached = readCase('11-cached-tokens-beside');
  it.each(cached.expected)('are a part of the input of %s', (traceId, usage) => {
    expect(cached.runs.get(traceId)?.usage).toMatchObject(usage as object);
  });

  it.each([
    [110, 110, 30],
    [130, 130, 50],
    [null, 130, 50],
  ])('leave thoughts to the output: a total of %s is one of %s', (total, totalTokens, outputTokens) => {
    const attributes = {
      'gen_ai.usage.input_tokens': 80,
      'gen_ai.usage.output_tokens': total === 110 ? 30 : 10,
      'gen_ai.usage.reasoning.output_tokens': total === 110 ? 20 : 40,
      ...(total === null ? {} : { 'gen_ai.usage.total_tokens': total }),
    };
    const { runs } = readTrace(
      buildTrace([chatSpan('say', { output: [chatMessage('assistant', 'Hi')], attributes })]),
    );
    expect(runs[0]?.usage).toMatchObject({ inputTokens: 80, outputTokens, totalTokens });
  });

  it.each([
    ['gen_ai.usage.cached_tokens', 'cachedInputTokens'],
    ['gen_ai.usage.details.cache_read_tokens', 'cachedInputTokens'],
    ['gen_ai.usage.details.cache_write_tokens', 'cacheWriteTokens'],
    ['gen_ai.usage.cache_creation.input_tokens', 'cacheWriteTokens'],
    ['gen_ai.usage.input_tokens.cached', 'cachedInputTokens'],
  ] as const)('are read from %s', (key, part) => {
    const { runs } = readTrace(
      buildTrace([chatSpan('say', { output: [chatMessage('assistant', 'Hi')], attributes: { [key]: 7 } })]),
    );
    expect(runs.map((run) => run.usage[part])).toEqual([7]);
  });
});
