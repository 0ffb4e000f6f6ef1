import type { LogRecord, SpanEvent, TraceData } from '../../../src/domain/trace/span.ts';
import { buildLog, buildSpan, buildTrace } from '../builders/spans.ts';

/** A trace of a wrapper that no rule names; absent facts are not compared. */
export interface Wrapper {
  trace: TraceData;
  question?: string;
  answer?: string;
  /** Calls as `name arguments → result`. */
  calls?: string[];
  models?: string[];
  tokens?: [input: number, output: number];
  agent?: string;
  session?: string;
  documents?: string[];
}

export const QUESTION = 'Where is order 7?';
export const ANSWER = 'Order 7 left Hamburg on Monday.';
export const ASKED = { order_id: 7 };
export const FOUND = { status: 'shipped', from: 'Hamburg' };
const CALL = 'find_order {"order_id":7} → {"status":"shipped","from":"Hamburg"}';
export const USUAL = { question: QUESTION, answer: ANSWER, calls: [CALL] };

type Row = readonly [
  id: string,
  parent: string | undefined,
  name: string,
  keys?: Record<string, unknown>,
  events?: [name: string, keys: Record<string, string>][],
];

export function trace(rows: readonly Row[], logs: readonly LogRecord[] = []): TraceData {
  const spans = rows.map(([id, parent, name, keys = {}, events = []], index) =>
    buildSpan(id, keys, {
      name,
      scope: 'shop.runtime',
      at: index * 20,
      lasts: parent === undefined ? 1000 : 15,
      ...(parent === undefined ? {} : { parent }),
      events: events.map(([eventName, attributes], place): SpanEvent => ({
        timeUnixNano: BigInt(1_795_244_718_000_000_000 + index * 20_000_000 + place),
        name: eventName,
        attributes: new Map(Object.entries(attributes)),
      })),
    }),
  );
  return buildTrace(spans, logs);
}

export const asking = { role: 'assistant', content: '', tool_calls: [call('find_order', ASKED)] };

function call(name: string, args: unknown): unknown {
  return { id: 'c1', type: 'function', function: { name, arguments: JSON.stringify(args) } };
}

export function logOf(span: string, event: string, body: unknown, at: number): LogRecord {
  return { ...buildLog(span, event, {}, at), body: typeof body === 'string' ? body : JSON.stringify(body) };
}

/** Wrappers by one line that describes them. */
export const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  'a team logs the chat as JSON lists on each call, under its own prefix': {
    ...USUAL,
    models: ['gpt-5-mini'],
    tokens: [30, 12],
    trace: trace([
      ['a', undefined, 'support-desk', { 'wx.step': 'agent', 'wx.ask': QUESTION, 'wx.reply': ANSWER }],
      [
        'b',
        'a',
        'turn 1',
        {
          'wx.step': 'llm_call',
          'wx.model': 'gpt-5-mini',
          'wx.messages': [{ role: 'user', content: QUESTION }],
          'wx.response': asking,
          'wx.tokens.in': 10,
          'wx.tokens.out': 5,
        },
      ],
      ['c', 'a', 'find_order', { 'wx.step': 'fn', 'wx.args': ASKED, 'wx.result': FOUND }],
      [
        'd',
        'a',
        'turn 2',
        {
          'wx.step': 'llm_call',
          'wx.model': 'gpt-5-mini',
          'wx.messages': [
            { role: 'user', content: QUESTION },
            asking,
            { role: 'tool', tool_call_id: 'c1', content: JSON.stringify(FOUND) },
          ],
          'wx.response': { role: 'assistant', content: ANSWER },
          'wx.tokens.in': 20,
          'wx.tokens.out': 7,
        },
      ],
    ]),
  },
  'a span of two plain texts beside the name of a model': {
    question: QUESTION,
    answer: ANSWER,
    models: ['acme/chat-2.1'],
    calls: [],
    trace: trace([
      [
        'a',
        undefined,
        'ask',
        { 'kb.model_id': 'acme/chat-2.1', 'kb.question': QUESTION, 'kb.answer': ANSWER },
      ],
    ]),
  },
  'messages flattened into numbered keys, with words between number and role': {
    ...USUAL,
    models: ['sonnet-4.5'],
    trace: trace([
      [
        'a',
        undefined,
        'llm.request',
        {
          'hx.llm.in.0.message.role': 'user',
          'hx.llm.in.0.message.content': QUESTION,
          'hx.llm.out.0.message.role': 'assistant',
          'hx.llm.out.0.message.tool_calls.0.function.name': 'find_order',
          'hx.llm.out.0.message.tool_calls.0.function.arguments': JSON.stringify(ASKED),
          'hx.llm.out.0.message.tool_calls.0.id': 'c1',
          'hx.llm.modelName': 'sonnet-4.5',
        },
      ],
      [
        'b',
        undefined,
        'llm.request',
        {
          'hx.llm.in.0.message.role': 'user',
          'hx.llm.in.0.message.content': QUESTION,
          'hx.llm.in.1.message.role': 'assistant',
          'hx.llm.in.1.message.tool_calls.0.function.name': 'find_order',
          'hx.llm.in.1.message.tool_calls.0.function.arguments': JSON.stringify(ASKED),
          'hx.llm.in.1.message.tool_calls.0.id': 'c1',
          'hx.llm.in.2.message.role': 'tool',
          'hx.llm.in.2.message.tool_call_id': 'c1',
          'hx.llm.in.2.message.content': JSON.stringify(FOUND),
          'hx.llm.out.0.message.role': 'assistant',
          'hx.llm.out.0.message.content': ANSWER,
          'hx.llm.modelName': 'sonnet-4.5',
        },
      ],
    ]),
  },
  'events whose names say who speaks, their texts in a payload': {
    ...USUAL,
    trace: trace([
      [
        'a',
        undefined,
        'bot session',
        { 'node.category': 'agent.run' },
        [
          ['user.input', { payload: QUESTION }],
          ['tool.call', { 'payload.name': 'find_order', 'payload.arguments': JSON.stringify(ASKED) }],
          ['tool.result', { 'payload.name': 'find_order', 'payload.result': JSON.stringify(FOUND) }],
          ['final_answer', { payload: ANSWER }],
        ],
      ],
    ]),
  },
  'the question on a plain root, the calls of the model below it': {
    question: QUESTION,
    answer: ANSWER,
    models: ['m-large'],
    calls: [CALL],
    trace: trace([
      ['r', undefined, 'POST /chat', { 'app.user_message': QUESTION, 'app.final_answer': ANSWER }],
      [
        'c',
        'r',
        'classify',
        {
          'app.model': 'm-large',
          'app.prompt': `Which team takes this? ${QUESTION}`,
          'app.completion': 'orders',
          'app.prompt_tokens': 9,
        },
      ],
      [
        't',
        'r',
        'tool find_order',
        { 'app.tool.name': 'find_order', 'app.tool.input': ASKED, 'app.tool.output': FOUND },
      ],
      [
        'd',
        'r',
        'compose',
        { 'app.model': 'm-large', 'app.prompt': QUESTION, 'app.completion': ANSWER, 'app.prompt_tokens': 9 },
      ],
    ]),
  },
  'a request and a response as a provider has them, as JSON': {
    ...USUAL,
    tokens: [20, 8],
    models: ['gpt-4o'],
    trace: trace([
      ['r', undefined, 'agent', { 'qq.type': 'AGENT' }],
      [
        'a',
        'r',
        'generate',
        {
          'qq.request': { model: 'gpt-4o', messages: [{ role: 'user', content: QUESTION }] },
          'qq.response': {
            choices: [{ message: asking }],
            usage: { prompt_tokens: 8, completion_tokens: 3 },
          },
        },
      ],
      [
        't',
        'r',
        'execute',
        {
          'qq.type': 'FUNCTION',
          'qq.function.name': 'find_order',
          'qq.function.params': ASKED,
          'qq.function.return': FOUND,
        },
      ],
      [
        'b',
        'r',
        'generate',
        {
          'qq.request': {
            model: 'gpt-4o',
            messages: [
              { role: 'user', content: QUESTION },
              asking,
              { role: 'tool', tool_call_id: 'c1', content: JSON.stringify(FOUND) },
            ],
          },
          'qq.response': {
            choices: [{ message: { role: 'assistant', content: ANSWER } }],
            usage: { prompt_tokens: 12, completion_tokens: 5 },
          },
        },
      ],
    ]),
  },
  'arguments and results flattened into keys': {
    ...USUAL,
    agent: 'order-bot',
    trace: trace([
      [
        'r',
        undefined,
        'run',
        { 'zz.agent.name': 'order-bot', 'zz.kind': 'agent', 'zz.input': QUESTION, 'zz.output': ANSWER },
      ],
      [
        't',
        'r',
        'execute find_order',
        {
          'zz.kind': 'tool',
          'zz.tool': 'find_order',
          'zz.input.order_id': 7,
          'zz.output.status': 'shipped',
          'zz.output.from': 'Hamburg',
        },
      ],
    ]),
  },
  'values that Python printed': {
    ...USUAL,
    trace: trace([
      [
        'r',
        undefined,
        'AgentRunner.run',
        { 'py.task': QUESTION, 'py.final_output': ANSWER, 'py.agent': 'runner' },
      ],
      [
        't',
        'r',
        'tool_call',
        {
          'py.tool_name': 'find_order',
          'py.arguments': "{'order_id': 7}",
          'py.result': "{'status': 'shipped', 'from': 'Hamburg'}",
        },
      ],
    ]),
  },
  'content in log records with names': {
    question: QUESTION,
    answer: ANSWER,
    models: ['llama-3.3-70b'],
    trace: trace(
      [['a', undefined, 'chat', { 'vv.llm.model': 'llama-3.3-70b', 'vv.llm.usage.total_tokens': 30 }]],
      [
        logOf('a', 'vv.prompt', [{ role: 'user', content: QUESTION }], 1),
        logOf('a', 'vv.completion', ANSWER, 9),
      ],
    ),
  },
  'a retrieval as a list of texts with scores': {
    question: QUESTION,
    answer: ANSWER,
    documents: ['Orders leave Hamburg on Mondays.', 'Order 7 is a book.'],
    trace: trace([
      ['r', undefined, 'rag_pipeline', { 'p.query': QUESTION, 'p.answer': ANSWER }],
      [
        's',
        'r',
        'vector search',
        {
          'p.query': QUESTION,
          'p.hits': [
            { text: 'Orders leave Hamburg on Mondays.', score: 0.9 },
            { text: 'Order 7 is a book.', score: 0.5 },
          ],
        },
      ],
      [
        'g',
        'r',
        'llm',
        { 'p.llm.name': 'x', 'p.model': 'phi-4', 'p.prompt': QUESTION, 'p.output_text': ANSWER },
      ],
    ]),
  },
  'authors and parts in place of roles and content': {
    question: QUESTION,
    answer: ANSWER,
    session: 'th-91',
    trace: trace([
      [
        'a',
        undefined,
        'conversation.turn',
        {
          'u.operation': 'invokeModel',
          'u.conversation_id': 'th-91',
          'u.history': [{ author: 'user', parts: [{ text: QUESTION }] }],
          'u.reply': { author: 'model', parts: [{ text: ANSWER }] },
        },
      ],
    ]),
  },
  'role and content as plain keys of events': {
    question: QUESTION,
    answer: ANSWER,
    trace: trace([
      [
        'a',
        undefined,
        'llm_completion',
        { 'n.model': 'mistral-small' },
        [
          ['message', { role: 'user', content: QUESTION }],
          ['message', { role: 'assistant', content: ANSWER }],
        ],
      ],
    ]),
  },
  'one list with question and answer on the span of the agent': {
    ...USUAL,
    trace: trace([
      [
        'a',
        undefined,
        'agent.execute',
        {
          'o.transcript': [
            { role: 'user', content: QUESTION },
            asking,
            { role: 'tool', tool_call_id: 'c1', content: JSON.stringify(FOUND) },
            { role: 'assistant', content: ANSWER },
          ],
        },
      ],
    ]),
  },
  'an unknown value of a known key, and a payload with everything': {
    question: QUESTION,
    answer: ANSWER,
    models: ['gpt-5'],
    tokens: [4, 6],
    trace: trace([
      [
        'a',
        undefined,
        'x',
        {
          'gen_ai.operation.name': 'llm_call',
          'y.data': { model: 'gpt-5', input: QUESTION, output: ANSWER, usage: { input: 4, output: 6 } },
        },
      ],
    ]),
  },
  'a tool whose result is an event of its span': {
    ...USUAL,
    trace: trace([
      [
        'r',
        undefined,
        'assistant',
        { 'd.kind': 'assistant', 'd.user_query': QUESTION, 'd.assistant_reply': ANSWER },
      ],
      [
        't',
        'r',
        'mcp find_order',
        { 'd.tool_name': 'find_order', 'd.parameters': ASKED },
        [['d.tool.finished', { 'd.output': JSON.stringify(FOUND) }]],
      ],
    ]),
  },
  'camel case throughout': {
    ...USUAL,
    tokens: [10, 5],
    models: ['claude-haiku-4-5'],
    session: 's-77',
    trace: trace([
      [
        'r',
        undefined,
        'AgentTask',
        { spanType: 'agentRun', sessionId: 's-77', userPrompt: QUESTION, finalResponse: ANSWER },
      ],
      [
        'm',
        'r',
        'LlmStep',
        {
          spanType: 'modelInvocation',
          modelName: 'claude-haiku-4-5',
          inputMessages: [{ role: 'user', content: QUESTION }],
          outputMessage: asking,
          inputTokenCount: 10,
          outputTokenCount: 5,
        },
      ],
      [
        't',
        'r',
        'ToolStep',
        {
          spanType: 'toolExecution',
          toolName: 'find_order',
          toolCallId: 'c1',
          toolArguments: ASKED,
          toolResult: FOUND,
        },
      ],
    ]),
  },
};
