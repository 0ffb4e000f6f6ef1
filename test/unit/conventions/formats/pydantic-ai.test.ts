import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../../src/conventions/traces/read-traces.ts';
import { answerText } from '../../../support/recordings/facts.ts';
import { chatSpan, chatMessage, buildSpan, toolCall, buildTrace } from '../../../support/builders/spans.ts';

const SCOPE = { scope: 'pydantic-ai' };

describe('Pydantic AI', () => {
  it('reads agents and tools of formats that have no operation name, and attempts as part of their call', () => {
    const { runs, notUnderstood } = readTrace(
      buildTrace([
        buildSpan('agent run', { agent_name: 'weather', final_result: 'Rain.' }, { ...SCOPE, lasts: 90 }),
        chatSpan(
          'c1',
          {
            input: [chatMessage('user', 'Weather?')],
            output: [chatMessage('assistant', toolCall('1', 'get', { a: 1 }))],
          },
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
        chatSpan(
          'c2',
          { output: [chatMessage('assistant', 'Rain.')] },
          { ...SCOPE, parent: 'agent run', at: 40 },
        ),
      ]),
    );
    expect(notUnderstood).toEqual([]);
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({ agent: 'weather', context: ['{"ok":true}'], error: null });
    expect(runs.map(answerText)).toEqual(['Rain.']);
  });
});
