import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/traces/read-traces.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import {
  invocations,
  answerText,
  invocationParts,
  textOfMessage,
  onlyRun,
} from '../../support/recordings/facts.ts';
import {
  agentSpan,
  chatSpan,
  buildLog,
  chatMessage,
  computeSpanId,
  buildSpan,
  toolCall,
  toolResponse,
  toolSpan,
  buildTrace,
} from '../../support/builders/spans.ts';

function listTools(run: AgentRun): unknown[] {
  return invocations(run).map((call) => [call.toolName, call.state, call.result ?? call.errorText]);
}

const QUESTION = chatMessage('user', 'Weather?');

describe('the output of a run', () => {
  it('is one assistant message with reasoning, calls, results, steps and text in order', () => {
    const run = onlyRun([
      agentSpan('agent', {}, { lasts: 100 }),
      chatSpan(
        'c1',
        {
          input: QUESTION,
          output: chatMessage(
            'assistant',
            { type: 'reasoning', content: 'Look.' },
            toolCall('1', 'get', { a: 1 }),
          ),
        },
        { parent: 'agent', at: 1 },
      ),
      toolSpan(
        't1',
        { id: '1', name: 'get', args: { a: 1 }, result: { ok: true } },
        { parent: 'agent', at: 20 },
      ),
      chatSpan('c2', { output: 'Done.' }, { parent: 'agent', at: 40 }),
    ]);
    expect(run.output).toHaveLength(1);
    const content = run.output[0]?.content;
    expect(content?.parts.map((part) => part.type)).toEqual([
      'reasoning',
      'tool-invocation',
      'step-start',
      'text',
    ]);
    expect(content?.content).toBe('Done.');
    expect(content?.toolInvocations).toEqual([
      { toolCallId: '1', toolName: 'get', args: { a: 1 }, state: 'result', result: { ok: true } },
    ]);
    expect(run.context).toEqual(['{"ok":true}']);
    expect(run.target).toEqual({
      kind: 'trace',
      traceId: run.target.traceId,
      spanId: computeSpanId('agent'),
    });
  });

  it('shows a failed call in parts only, as output-error, and as failed in the context', () => {
    const run = onlyRun([
      agentSpan('agent', {}, { lasts: 100 }),
      chatSpan('c1', { input: QUESTION, output: toolCall('1', 'get', {}) }, { parent: 'agent', at: 1 }),
      toolSpan('t1', { id: '1', name: 'get', args: {} }, { parent: 'agent', at: 20, error: 'backend down' }),
      chatSpan(
        'c2',
        {
          input: [QUESTION, toolCall('1', 'get', {}), toolResponse('1', 'Error: backend down')],
          output: 'Sorry.',
        },
        { parent: 'agent', at: 40 },
      ),
    ]);
    expect(listTools(run)).toEqual([['get', 'output-error', 'backend down']]);
    expect(run.output[0]?.content.toolInvocations).toBeUndefined();
    expect(run.context).toEqual(['get failed: backend down']);
    expect(run.status).toBe('ok');
  });

  it('pairs results by id, then by name and arguments, then by order', () => {
    const calls = [
      toolCall('1', 'get', { a: 1 }),
      toolCall(null, 'get', { a: 2 }),
      toolCall(null, 'get', { a: 3 }),
    ];
    const run = onlyRun([
      agentSpan('agent', {}, { lasts: 100 }),
      chatSpan(
        'c1',
        { input: QUESTION, output: chatMessage('assistant', ...calls) },
        { parent: 'agent', at: 1 },
      ),
      toolSpan('t3', { name: 'get', result: 'third' }, { parent: 'agent', at: 20 }),
      toolSpan('t2', { name: 'get', args: { a: 2 }, result: 'second' }, { parent: 'agent', at: 21 }),
      toolSpan('t1', { id: ' 1 ', name: 'get', result: 'first' }, { parent: 'agent', at: 22 }),
    ]);
    expect(listTools(run)).toEqual([
      ['get', 'result', 'first'],
      ['get', 'result', 'second'],
      ['get', 'result', 'third'],
    ]);
  });

  it('leaves a call without a result in state call', () => {
    const run = onlyRun([
      agentSpan('agent'),
      chatSpan('c1', { input: QUESTION, output: toolCall('1', 'get', { a: 1 }) }, { parent: 'agent' }),
    ]);
    expect(listTools(run)).toEqual([['get', 'call', undefined]]);
    expect(run.context).toEqual([]);
  });

  it('takes a tool span that no output asked for as a call at its time', () => {
    const run = onlyRun([
      agentSpan('agent', {}, { lasts: 100 }),
      chatSpan('c1', { input: QUESTION }, { parent: 'agent', at: 1 }),
      toolSpan('t1', { id: '1', name: 'get', args: { a: 1 }, result: 'r' }, { parent: 'agent', at: 20 }),
      chatSpan('c2', { output: 'Done.' }, { parent: 'agent', at: 40 }),
    ]);
    expect(run.output[0]?.content.parts.map((part) => part.type)).toEqual([
      'tool-invocation',
      'step-start',
      'text',
    ]);
  });

  it('recovers results, calls and reasoning that only later inputs show', () => {
    const steps = [
      chatMessage('assistant', { type: 'reasoning', content: 'Look.' }, toolCall('1', 'get', { a: 1 })),
      chatMessage('tool', toolResponse('1', 'one')),
      chatMessage('assistant', toolCall('2', 'put', {})),
      chatMessage('tool', toolResponse('2', 'two')),
    ];
    const run = onlyRun([
      agentSpan('agent', {}, { lasts: 100 }),
      chatSpan('c1', { input: QUESTION, output: toolCall('1', 'get', { a: 1 }) }, { parent: 'agent', at: 1 }),
      chatSpan('c2', { input: [QUESTION, ...steps.slice(0, 2)] }, { parent: 'agent', at: 20 }),
      chatSpan('c3', { input: [QUESTION, ...steps], output: 'Done.' }, { parent: 'agent', at: 40 }),
    ]);
    expect(listTools(run)).toEqual([
      ['get', 'result', 'one'],
      ['put', 'result', 'two'],
    ]);
    expect(run.output[0]?.content.parts[0]).toMatchObject({ type: 'reasoning', reasoning: 'Look.' });
  });

  it('drops a failed attempt that was tried again', () => {
    const run = onlyRun([
      agentSpan('agent', {}, { lasts: 100 }),
      chatSpan('c1', { input: QUESTION }, { parent: 'agent', at: 1, error: 'rate limited' }),
      chatSpan('c2', { input: QUESTION, output: 'Done.' }, { parent: 'agent', at: 20 }),
    ]);
    expect([answerText(run), run.status, run.error]).toEqual(['Done.', 'ok', null]);
  });

  it('keeps server tools with their results inline', () => {
    const run = onlyRun([
      chatSpan('c1', {
        input: QUESTION,
        output: chatMessage(
          'assistant',
          {
            type: 'server_tool_call',
            id: 's1',
            name: 'web_search',
            server_tool_call: { type: 'web_search', query: 'q' },
          },
          {
            type: 'server_tool_call_response',
            id: 's1',
            server_tool_call_response: { type: 'x', hits: 2 },
          },
          'Found.',
        ),
      }),
    ]);
    expect(invocationParts(run.output)[0]).toMatchObject({
      providerExecuted: true,
      toolInvocation: { args: { query: 'q' }, state: 'result', result: { hits: 2 } },
    });
  });

  it('adds the agent’s own answer when no model call has it', () => {
    const run = onlyRun([
      agentSpan('agent', { 'gen_ai.output.messages': [chatMessage('assistant', 'Final.')] }),
      chatSpan('c1', { input: QUESTION, output: 'Draft.' }, { parent: 'agent' }),
    ]);
    expect(run.output[0]?.content.parts).toEqual([
      { type: 'text', text: 'Draft.' },
      { type: 'text', text: 'Final.' },
    ]);
  });

  it('leaves out the conversation that an agent’s output repeats', () => {
    const run = onlyRun([
      agentSpan('agent', {
        'gen_ai.input.messages': [QUESTION],
        'gen_ai.output.messages': [
          chatMessage('system', 'Be kind.'),
          chatMessage('assistant', 'Hello'),
          QUESTION,
          { role: 'tool', parts: [] },
          chatMessage('assistant', 'Rain.'),
        ],
      }),
    ]);
    expect(run.output[0]?.content.parts).toEqual([{ type: 'text', text: 'Rain.' }]);
  });

  it('takes the first of several choices', () => {
    const run = onlyRun([chatSpan('c1', { input: QUESTION, output: ['One.', 'Two.'] })]);
    expect(answerText(run)).toBe('One.');
  });
});

describe('the input of a run', () => {
  it('is the last block of user messages; earlier messages are the history, without system messages', () => {
    const run = onlyRun([
      chatSpan('c1', {
        input: [chatMessage('system', 'Be kind.'), 'Hi', chatMessage('assistant', 'Hello'), 'A', 'B'],
        output: 'Done.',
      }),
    ]);
    expect(run.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['A', 'B']);
    expect(run.input.rememberedMessages.map(textOfMessage)).toEqual(['Hi', 'Hello']);
  });

  it('remembers a question that was asked before when it is asked again', () => {
    const run = onlyRun([
      agentSpan('agent', { 'gen_ai.input.messages': [QUESTION] }),
      chatSpan(
        'c1',
        { input: [QUESTION, chatMessage('assistant', 'Rain.'), QUESTION], output: 'Still rain.' },
        { parent: 'agent' },
      ),
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(run.input.rememberedMessages.map(textOfMessage)).toEqual(['Weather?', 'Rain.']);
  });

  it('never takes a tool result of an earlier turn for one of this run', () => {
    const run = onlyRun([
      chatSpan('c1', {
        input: [
          QUESTION,
          toolCall('1', 'get', {}),
          toolResponse('1', 'old'),
          chatMessage('assistant', 'Rain.'),
          'And now?',
        ],
        output: 'Sun.',
      }),
    ]);
    expect(run.context).toEqual([]);
    expect(invocationParts(run.output)).toEqual([]);
    expect(invocationParts(run.input.rememberedMessages)[0]?.toolInvocation).toMatchObject({
      state: 'result',
      result: 'old',
    });
  });

  it('counts tool calls after the question as calls of the run when the model continues from them', () => {
    const run = onlyRun([
      chatSpan('c1', {
        input: [QUESTION, toolCall('1', 'get', {}), toolResponse('1', 'rain')],
        output: 'Rain.',
      }),
    ]);
    expect(run.context).toEqual(['rain']);
    expect(run.input.rememberedMessages).toEqual([]);
  });

  it.each([
    ['bare text', 'Be kind.'],
    ['parts', [{ type: 'text', content: 'Be kind.' }]],
    ['strings', ['Be kind.']],
    ['messages', [chatMessage('system', 'Be kind.')]],
    ['JSON-quoted text', '"Be kind."'],
  ])('reads system instructions given as %s', (_kind, value) => {
    const run = onlyRun([
      chatSpan('c1', { input: QUESTION, output: 'x', attributes: { 'gen_ai.system_instructions': value } }),
    ]);
    expect(run.input.systemMessages.map((message) => message.content)).toEqual(['Be kind.']);
  });

  it('reads messages from the details event where the span has none', () => {
    const event = 'gen_ai.client.inference.operation.details';
    const content = {
      'gen_ai.input.messages': [QUESTION],
      'gen_ai.output.messages': [chatMessage('assistant', 'Rain.')],
    };
    const { runs, logCount } = readTrace(buildTrace([chatSpan('c1', {})], [buildLog('c1', event, content)]));
    expect(logCount).toBe(1);
    expect(runs.map(answerText)).toEqual(['Rain.']);
  });

  it('keeps images as files and compaction as data', () => {
    const run = onlyRun([
      chatSpan('c1', {
        input: [
          chatMessage(
            'user',
            'See',
            { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'QQ==' },
            { type: 'uri', modality: 'image', uri: 'http://x/y.png' },
          ),
        ],
        output: 'ok',
      }),
    ]);
    expect(run.input.inputMessages[0]?.content.parts.slice(1)).toEqual([
      { type: 'file', mimeType: 'image/png', data: 'QQ==' },
      { type: 'file', mimeType: 'image', data: 'http://x/y.png' },
    ]);
  });
});

describe('runs of a trace', () => {
  it('reads a trace of two agents side by side as two runs', () => {
    const { runs } = readTrace(
      buildTrace([
        buildSpan('root', {}, { lasts: 100 }),
        agentSpan(
          'a',
          { 'gen_ai.input.messages': [QUESTION], 'gen_ai.output.messages': [chatMessage('assistant', 'A')] },
          { parent: 'root', at: 1 },
        ),
        agentSpan(
          'b',
          { 'gen_ai.input.messages': [QUESTION], 'gen_ai.output.messages': [chatMessage('assistant', 'B')] },
          { parent: 'root', at: 50 },
        ),
      ]),
    );
    expect(runs.map((run) => [run.agent, answerText(run)])).toEqual([
      ['a', 'A'],
      ['b', 'B'],
    ]);
  });

  it('shows a sub-agent as one tool call of its parent and as a sub-run with usage of its own', () => {
    const usage = { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 1 };
    const run = onlyRun([
      agentSpan('boss', { 'gen_ai.conversation.id': 'sess-1' }, { lasts: 100 }),
      chatSpan(
        'c1',
        { input: QUESTION, output: toolCall('1', 'ask', { q: 'x' }), attributes: usage },
        { parent: 'boss', at: 1 },
      ),
      toolSpan('t1', { id: '1', name: 'ask', args: { q: 'x' } }, { parent: 'boss', at: 20, lasts: 30 }),
      agentSpan('helper', { 'gen_ai.conversation.id': 'private' }, { parent: 't1', at: 21 }),
      chatSpan('c2', { input: 'x', output: 'y', attributes: usage }, { parent: 'helper', at: 22 }),
      chatSpan('c3', { output: 'Done: y', attributes: usage }, { parent: 'boss', at: 60 }),
    ]);
    expect(listTools(run)).toEqual([['ask', 'result', 'y']]);
    expect(run.context).toEqual(['y']);
    expect(run.usage).toMatchObject({ inputTokens: 30, outputTokens: 3, totalTokens: 33 });
    const [sub] = run.subRuns;
    expect(sub).toMatchObject({ agent: 'helper', sessionId: 'sess-1', target: { kind: 'agent' } });
    expect(sub?.usage.inputTokens).toBe(10);
  });

  it('reads model calls below a tool span as a sub-run without a name', () => {
    const run = onlyRun([
      agentSpan('boss', {}, { lasts: 100 }),
      chatSpan('c1', { input: QUESTION, output: toolCall('1', 'ask', {}) }, { parent: 'boss', at: 1 }),
      toolSpan('t1', { id: '1', name: 'ask', args: {} }, { parent: 'boss', at: 20, lasts: 30 }),
      chatSpan('c2', { input: 'x', output: 'y' }, { parent: 't1', at: 22 }),
      chatSpan('c3', { output: 'Done.' }, { parent: 'boss', at: 60 }),
    ]);
    expect(listTools(run)).toEqual([['ask', 'result', 'y']]);
    expect(run.subRuns.map((sub) => [sub.agent, answerText(sub)])).toEqual([[null, 'y']]);
    expect(answerText(run)).toBe('Done.');
  });

  it('reads a handoff inside an envelope as one run with its members, the transfer marked and no evidence', () => {
    const run = onlyRun([
      agentSpan('envelope', {}, { lasts: 100 }),
      agentSpan('triage', {}, { parent: 'envelope', at: 1 }),
      chatSpan(
        'c1',
        { input: QUESTION, output: toolCall('1', 'transfer_to_weather', {}) },
        { parent: 'triage', at: 2 },
      ),
      toolSpan(
        't1',
        { id: '1', name: 'transfer_to_weather', args: {}, result: 'moved' },
        { parent: 'triage', at: 8 },
      ),
      agentSpan('weather', {}, { parent: 'envelope', at: 20 }),
      chatSpan(
        'c2',
        {
          input: [QUESTION, toolCall('1', 'transfer_to_weather', {}), toolResponse('1', 'moved')],
          output: toolCall('2', 'get', {}),
        },
        { parent: 'weather', at: 21 },
      ),
      toolSpan('t2', { id: '2', name: 'get', args: {}, result: 'rain' }, { parent: 'weather', at: 30 }),
      chatSpan('c3', { output: 'It rains.' }, { parent: 'weather', at: 40 }),
    ]);
    expect(listTools(run).map((call) => (call as unknown[])[0])).toEqual(['transfer_to_weather', 'get']);
    expect(invocationParts(run.output).map((part) => part.handoff ?? false)).toEqual([true, false]);
    expect(run.context).toEqual(['rain']);
    expect(answerText(run)).toBe('It rains.');
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(run.subRuns.map((sub) => [sub.agent, listTools(sub).length])).toEqual([
      ['triage', 1],
      ['weather', 1],
    ]);
  });

  it('reads turns one after the other under one envelope as runs of their own', () => {
    const { runs } = readTrace(
      buildTrace([
        agentSpan('envelope', {}, { lasts: 100 }),
        agentSpan('one', {}, { parent: 'envelope', at: 1 }),
        chatSpan('c1', { input: QUESTION, output: 'Rain.' }, { parent: 'one', at: 2 }),
        agentSpan('two', {}, { parent: 'envelope', at: 20 }),
        chatSpan(
          'c2',
          { input: [QUESTION, chatMessage('assistant', 'Rain.'), 'And Rome?'], output: 'Sun.' },
          { parent: 'two', at: 21 },
        ),
      ]),
    );
    expect(runs.map(answerText)).toEqual(['Rain.', 'Sun.']);
    expect(runs[1]?.input.rememberedMessages.map(textOfMessage)).toEqual(['Weather?', 'Rain.']);
  });

  it('groups model calls without an agent by conversation', () => {
    const step = [
      chatMessage('assistant', toolCall('1', 'get', {})),
      chatMessage('tool', toolResponse('1', 'rain')),
    ];
    const { runs } = readTrace(
      buildTrace([
        buildSpan('http', {}, { lasts: 100 }),
        chatSpan('c1', { input: QUESTION, output: toolCall('1', 'get', {}) }, { parent: 'http', at: 1 }),
        chatSpan('title', { input: 'Make a title', output: 'Weather' }, { parent: 'http', at: 2 }),
        chatSpan('c2', { input: [QUESTION, ...step], output: 'Rain.' }, { parent: 'http', at: 20 }),
      ]),
    );
    expect(runs.map((run) => [answerText(run), listTools(run).length])).toEqual([
      ['Rain.', 1],
      ['Weather', 0],
    ]);
  });

  it('counts a model call with two spans once', () => {
    const attributes = { 'gen_ai.usage.input_tokens': 5, 'gen_ai.usage.output_tokens': 2 };
    const run = onlyRun([
      agentSpan('agent', {}, { lasts: 100 }),
      chatSpan('outer', { input: QUESTION, output: 'Rain.' }, { parent: 'agent', at: 1, lasts: 50 }),
      chatSpan('inner', { input: QUESTION, output: 'Rain.', attributes }, { parent: 'outer', at: 2 }),
    ]);
    expect(run.output[0]?.content.parts).toEqual([{ type: 'text', text: 'Rain.' }]);
    expect(run.usage.totalTokens).toBe(7);
  });

  it('ignores judges, scorers and its own evaluation spans', () => {
    const judge = chatSpan('judge', { input: 'Is it true?', output: 'yes' }, { parent: 'eval' });
    const own = buildSpan('eval', {}, { scope: 'spanscore' });
    expect(readTrace(buildTrace([own, judge]))).toMatchObject({
      runs: [],
      notScorable: { code: 'evaluation_span' },
    });
    const agent = agentSpan('agent', { 'gen_ai.output.messages': [chatMessage('assistant', 'x')] });
    const { runs } = readTrace(
      buildTrace([agent, buildSpan('eval', {}, { scope: 'spanscore', parent: 'agent' }), judge]),
    );
    expect(runs.map((run) => run.conventions)).toEqual([['otel-genai']]);
    expect(runs[0]?.usage.inputTokens).toBeNull();
  });

  it('takes the session of the run, else of the spans above it, else of the resource', () => {
    const content = { input: [QUESTION], output: [chatMessage('assistant', 'x')] };
    const above = onlyRun([
      buildSpan('root', { 'session.id': 's1' }, { lasts: 50 }),
      chatSpan('c1', content, { parent: 'root' }),
    ]);
    expect(above.sessionId).toBe('s1');
    const resource = onlyRun([
      chatSpan('c1', content, { resource: { 'session.id': 's2', 'deployment.environment': 'prod' } }),
    ]);
    expect([resource.sessionId, resource.environment]).toEqual(['s2', 'prod']);
    const response = onlyRun([
      chatSpan('c1', { ...content, attributes: { 'gen_ai.conversation.id': 'resp_1' } }),
    ]);
    expect(response.sessionId).toBeNull();
  });

  it('takes the version of the agent from its span, else of its process, and never that of the service', () => {
    const answer = { 'gen_ai.output.messages': [chatMessage('assistant', 'x')] };
    const findVersion = (attributes: Record<string, unknown>, resource: Record<string, string>) => {
      const run = onlyRun([agentSpan('agent', { ...answer, ...attributes }, { resource })]);
      return [run.agentVersion, run.serviceVersion];
    };
    const own = { 'gen_ai.agent.version': '2.1.0' };
    expect(findVersion(own, { 'gen_ai.agent.version': '3', 'service.version': '7' })).toEqual(['2.1.0', '7']);
    expect(findVersion({}, { 'gen_ai.agent.version': '3' })).toEqual(['3', null]);
    expect(findVersion({}, { 'service.version': '7' })).toEqual([null, '7']);
    expect(findVersion({ 'gen_ai.agent.version': '' }, {})).toEqual([null, null]);
  });

  it('gives each agent of a trace its own version', () => {
    const [outer] = readTrace(
      buildTrace([
        agentSpan('outer', { 'gen_ai.agent.version': '1' }, { lasts: 100 }),
        chatSpan('c1', { output: 'x' }, { parent: 'outer', at: 1 }),
        agentSpan('inner', { 'gen_ai.agent.version': '2' }, { parent: 'outer', at: 20, lasts: 50 }),
        chatSpan('c2', { output: 'y' }, { parent: 'inner', at: 21 }),
      ]),
    ).runs;
    expect([outer?.agentVersion, outer?.subRuns[0]?.agentVersion]).toEqual(['1', '2']);
  });

  it('gives retrieved documents after tool results, equal texts once', () => {
    const run = onlyRun([
      agentSpan('agent', {}, { lasts: 100 }),
      buildSpan(
        'r1',
        {
          'gen_ai.operation.name': 'retrieval',
          'gen_ai.retrieval.documents': [{ id: 'd1', score: 0.5, content: 'Rain.' }, { content: 'rain' }],
        },
        { parent: 'agent', at: 1 },
      ),
      chatSpan('c1', { input: QUESTION, output: toolCall('1', 'get', {}) }, { parent: 'agent', at: 5 }),
      toolSpan('t1', { id: '1', name: 'get', args: {}, result: 'rain' }, { parent: 'agent', at: 20 }),
    ]);
    expect(run.documents).toEqual([
      { id: 'd1', content: 'Rain.', score: 0.5 },
      { id: null, content: 'rain', score: null },
    ]);
    expect(run.context).toEqual(['rain', 'Rain.']);
  });
});

describe('a run that cannot be scored', () => {
  const code = (...spans: Span[]): unknown =>
    readTrace(buildTrace(spans)).runs.map((run) => run.notScorable?.code);

  it('says that no content was captured and which switch to turn on', () => {
    const run = onlyRun([
      agentSpan('agent', {}, { scope: 'pydantic-ai' }),
      chatSpan('c1', {}, { parent: 'agent', scope: 'pydantic-ai' }),
    ]);
    expect(run.notScorable?.code).toBe('no_content_captured');
    expect(run.notScorable?.detail).toContain('include_content=True');
  });

  it('distinguishes redacted, referenced, failed and unfinished runs', () => {
    expect(code(chatSpan('c1', { input: '<REDACTED>', output: '__REDACTED__' }))).toEqual(['redacted']);
    expect(code(chatSpan('c1', { attributes: { 'gen_ai.input.messages_ref': 's3://x' } }))).toEqual([
      'content_by_reference',
    ]);
    expect(code(chatSpan('c1', { input: QUESTION }, { error: 'boom' }))).toEqual([
      'run_errored_before_output',
    ]);
    expect(code(chatSpan('c1', { input: QUESTION }))).toEqual(['run_incomplete']);
    expect(code(chatSpan('c1', { input: QUESTION, output: toolCall('1', 'get', { a: 1 }) }))).toEqual([
      'run_incomplete',
    ]);
  });

  it('distinguishes a trace without agents from a trace whose spans are not understood', () => {
    expect(readTrace(buildTrace([buildSpan('GET /', { 'http.request.method': 'GET' })]))).toMatchObject({
      runs: [],
      notScorable: { code: 'no_agent_or_llm_span' },
      notUnderstood: [],
    });
    const strange = buildSpan('x', { 'gen_ai.operation.name': 'dream', 'gen_ai.request.model': 'm' });
    expect(readTrace(buildTrace([strange])).notUnderstood).toEqual([
      {
        spanId: computeSpanId('x'),
        name: 'x',
        service: 'shop',
        scope: 'test',
        reason: 'gen_ai.operation.name "dream" is not a known operation',
        attributes: ['gen_ai.operation.name', 'gen_ai.request.model'],
      },
    ]);
  });

  it('understands a cycle of Strands, which has an id and no operation', () => {
    const cycle = { 'agent_loop.cycle_id': 'cycle-1', 'gen_ai.event.start_time': '2026-11-21T16:44:35.791Z' };
    const trace = buildTrace([buildSpan('execute_agent_loop_cycle', cycle, { scope: 'strands' })]);
    expect(readTrace(trace).notUnderstood).toEqual([]);
  });

  it('warns of content that was cut off and of attributes that were dropped', () => {
    const cut = '[{"role":"user","parts":[{"type":"text","content":"Weather in Par';
    const run = onlyRun([
      chatSpan('c1', { output: 'x', attributes: { 'gen_ai.input.messages': cut } }, { dropped: 3 }),
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather in Par']);
    expect(run.warnings.map((warning) => warning.code)).toEqual(['truncated', 'attributes_dropped']);
  });
});
