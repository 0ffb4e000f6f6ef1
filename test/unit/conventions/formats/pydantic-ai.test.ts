import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../../src/conventions/traces/read-traces.ts';
import { answerText, onlyRun } from '../../../support/recordings/facts.ts';
import { chatSpan, buildSpan, toolCall, buildTrace } from '../../../support/builders/spans.ts';

const SCOPE = { scope: 'pydantic-ai' };

describe('Pydantic AI', () => {
  const call = { tool_name: 'refund', args: { order: 7 }, tool_call_id: '1' };
  it.each<[string, Record<string, unknown>]>([
    ['results of the application', { calls: [call], approvals: [] }],
    ['an approval', { calls: [], approvals: [call] }],
  ])('has a run that waits when its final result asks for %s', (_what, result) => {
    const { runs } = readTrace(
      buildTrace([
        buildSpan('agent run', { agent_name: 'shop', final_result: result }, { ...SCOPE, lasts: 90 }),
        chatSpan(
          'c1',
          { output: toolCall('1', 'refund', { order: 7 }) },
          { ...SCOPE, parent: 'agent run', at: 1 },
        ),
      ]),
    );
    expect(runs.map((run) => run.notScorable?.code)).toEqual(['run_waiting']);
  });

  it.each(['CallDeferred', 'ApprovalRequired'])('has no failed tool where a tool raised %s', (name) => {
    const run = onlyRun([
      buildSpan('agent run', { agent_name: 'shop' }, { ...SCOPE, lasts: 90 }),
      chatSpan(
        'c1',
        { output: toolCall('1', 'refund', { order: 7 }) },
        { ...SCOPE, parent: 'agent run', at: 1 },
      ),
      buildSpan(
        'running tool',
        {
          'gen_ai.tool.name': 'refund',
          'gen_ai.tool.call.id': '1',
          'error.type': `pydantic_ai.exceptions.${name}`,
        },
        { ...SCOPE, parent: 'agent run', at: 20, error: '' },
      ),
    ]);
    expect(run.notScorable?.code).toBe('run_waiting');
    expect(run.output[0]?.content.parts).toMatchObject([
      { type: 'tool-invocation', toolInvocation: { state: 'call' } },
    ]);
  });

  it('reads agents and tools of formats that have no operation name, and attempts as part of their call', () => {
    const run = onlyRun([
      buildSpan('agent run', { agent_name: 'weather', final_result: 'Rain.' }, { ...SCOPE, lasts: 90 }),
      chatSpan(
        'c1',
        { input: 'Weather?', output: toolCall('1', 'get', { a: 1 }) },
        { ...SCOPE, parent: 'agent run', at: 1 },
      ),
      buildSpan(
        'model request attempt m',
        { 'gen_ai.request.model': 'm' },
        { ...SCOPE, parent: 'c1', at: 2, error: '429' },
      ),
      buildSpan('running tools', { tools: ['get'] }, { ...SCOPE, parent: 'agent run', at: 20 }),
      buildSpan(
        'running tool',
        {
          'gen_ai.tool.name': 'get',
          'gen_ai.tool.call.id': '1',
          tool_arguments: { a: 1 },
          tool_response: { ok: true },
        },
        { ...SCOPE, parent: 'running tools', at: 21 },
      ),
      chatSpan('c2', { output: 'Rain.' }, { ...SCOPE, parent: 'agent run', at: 40 }),
    ]);
    expect(run).toMatchObject({ agent: 'weather', context: ['{"ok":true}'], error: null });
    expect(answerText(run)).toBe('Rain.');
  });
});
