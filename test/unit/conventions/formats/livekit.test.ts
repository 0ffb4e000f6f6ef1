import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../../src/conventions/traces/read-traces.ts';
import type { AgentRun } from '../../../../src/domain/trace/agent-run.ts';
import type { Span } from '../../../../src/domain/trace/span.ts';
import {
  invocations,
  answerText,
  invocationParts,
  textOfMessage,
  onlyRun,
} from '../../../support/recordings/facts.ts';
import { buildSpan, buildTrace } from '../../../support/builders/spans.ts';

const SCOPE = { scope: 'livekit-agents' };
const QUESTION = { type: 'message', role: 'user', content: ['What is the weather in Paris?'] };
const CALL = { type: 'function_call', call_id: '1', name: 'get_weather', arguments: '{"city":"Paris"}' };
const OUTPUT = { type: 'function_call_output', call_id: '1', output: '{"tempC":18}', is_error: false };

/** One turn of a session, with content under `lk.` or `lk.pii.`. */
function turn(prefix: string, tool: Record<string, unknown> = {}): Span[] {
  const items = [{ type: 'message', role: 'system', content: ['Be kind.'] }, QUESTION];
  return [
    buildSpan('agent_session', { 'lk.room_name': 'room-1' }, { ...SCOPE, lasts: 200 }),
    buildSpan('user_turn', { [`${prefix}user_transcript`]: 'What' }, { ...SCOPE, parent: 'agent_session' }),
    buildSpan(
      'agent_turn',
      { [`${prefix}instructions`]: 'Be kind.', [`${prefix}user_input`]: 'What is the weather in Paris?' },
      { ...SCOPE, parent: 'agent_session', at: 10, lasts: 150 },
    ),
    buildSpan(
      'n1',
      { [`${prefix}chat_ctx`]: { items }, [`${prefix}response.function_calls`]: [CALL] },
      { ...SCOPE, name: 'llm_node', parent: 'agent_turn', at: 11 },
    ),
    buildSpan(
      'r1',
      { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 81 },
      { ...SCOPE, name: 'llm_request', parent: 'n1', at: 12, lasts: 5 },
    ),
    buildSpan(
      'function_tool',
      {
        'lk.function_tool.id': '1',
        'lk.function_tool.name': 'get_weather',
        [`${prefix}function_tool.arguments`]: { city: 'Paris' },
        [`${prefix}function_tool.output`]: { tempC: 18 },
        ...tool,
      },
      { ...SCOPE, parent: 'agent_turn', at: 30 },
    ),
    buildSpan(
      'n2',
      { [`${prefix}chat_ctx`]: { items: [...items, CALL, OUTPUT] }, [`${prefix}response.text`]: 'Rain.' },
      { ...SCOPE, name: 'llm_node', parent: 'agent_turn', at: 50 },
    ),
    buildSpan('tts_node', { [`${prefix}input_text`]: 'Rain.' }, { ...SCOPE, parent: 'agent_turn', at: 70 }),
  ];
}

describe('LiveKit', () => {
  it('reads a turn whose answer stands on the turn alone', () => {
    const turns = buildSpan(
      'agent_turn',
      { 'lk.pii.user_input': 'Weather?', 'lk.pii.response.text': 'Rain.' },
      { ...SCOPE, lasts: 90 },
    );
    const call = buildSpan(
      'r',
      { 'gen_ai.request.model': 'm' },
      { ...SCOPE, name: 'llm_node', parent: 'agent_turn' },
    );
    const [run] = readTrace(buildTrace([turns, call])).runs;
    expect(run?.scorable).toBe(true);
    expect(run?.output).toHaveLength(1);
    expect(answerText(run as AgentRun)).toBe('Rain.');
  });

  it.each(['lk.', 'lk.pii.'])('reads a turn with its content under %s', (prefix) => {
    const run = onlyRun(turn(prefix));
    expect(run).toMatchObject({
      sessionId: 'room-1',
      models: ['m'],
      usage: { inputTokens: 81 },
      context: ['{"tempC":18}'],
      input: { systemMessages: [{ content: 'Be kind.' }] },
    });
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['What is the weather in Paris?']);
    expect(invocationParts(run.output)).toHaveLength(1);
    expect(answerText(run)).toBe('Rain.');
  });

  it('takes a tool that says it failed for failed, its output for the reason', () => {
    const failed = { 'lk.function_tool.is_error': 'true', 'lk.function_tool.output': 'down' };
    const run = onlyRun(turn('lk.', failed));
    expect(invocations(run)).toMatchObject([{ state: 'output-error', errorText: 'down' }]);
  });
});
