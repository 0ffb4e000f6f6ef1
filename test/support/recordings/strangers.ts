import { ANSWER, ASKED, asking, FOUND, logOf, QUESTION, trace, USUAL, type Wrapper } from './wrappers.ts';

const RESULT = { role: 'tool', tool_call_id: 'c1', content: JSON.stringify(FOUND) };
const SYSTEM = 'You answer questions about orders.';

function scoped(log: ReturnType<typeof logOf>, scopeName: string): ReturnType<typeof logOf> {
  return { ...log, scopeName };
}

/**
 * Emitters that were described in one line each, then written, then read once: the first reading of these is the figure in
 * `docs/conventions.md`.
 */
export const STRANGERS: Readonly<Record<string, Wrapper>> = {
  'Rust: code and thread keys on every span, requests and responses as events with a JSON payload': {
    ...USUAL,
    models: ['qwen3-32b'],
    trace: trace([
      ['r', undefined, 'converse', { 'code.filepath': 'src/main.rs', 'thread.id': 1 }],
      [
        'a',
        'r',
        'completion_step',
        { 'code.lineno': 7, 'thread.id': 1, 'oxide.model': 'qwen3-32b' },
        [
          ['llm request', { payload: JSON.stringify({ messages: [{ role: 'user', content: QUESTION }] }) }],
          ['llm response', { payload: JSON.stringify(asking) }],
        ],
      ],
      [
        'b',
        'r',
        'invoke_tool',
        {
          'thread.id': 1,
          'oxide.tool.name': 'find_order',
          'oxide.tool.arguments': ASKED,
          'oxide.tool.output': FOUND,
        },
      ],
      [
        'c',
        'r',
        'completion_step',
        { 'thread.id': 1, 'oxide.model': 'qwen3-32b' },
        [
          [
            'llm request',
            { payload: JSON.stringify({ messages: [{ role: 'user', content: QUESTION }, asking, RESULT] }) },
          ],
          ['llm response', { payload: JSON.stringify({ role: 'assistant', content: ANSWER }) }],
        ],
      ],
    ]),
  },
  'Kotlin: turns of speakers and utterances in one request object': {
    question: QUESTION,
    answer: ANSWER,
    models: ['gemini-2.5-flash'],
    trace: trace([
      [
        'a',
        undefined,
        'ChatPipeline.execute',
        {
          'kai.modelId': 'gemini-2.5-flash',
          'kai.chatRequest': { turns: [{ speaker: 'customer', utterance: QUESTION }] },
          'kai.chatResponse': { speaker: 'bot', utterance: ANSWER },
        },
      ],
    ]),
  },
  'Elixir: a message in, a message out, capabilities as tools': {
    ...USUAL,
    session: 'room-12',
    trace: trace([
      [
        'r',
        undefined,
        'Lex.Agent.handle_message',
        { 'lex.message_in': QUESTION, 'lex.message_out': ANSWER, 'lex.conversation': 'room-12' },
      ],
      [
        't',
        'r',
        'Lex.Capability.run',
        { 'lex.capability': 'find_order', 'lex.capability_args': ASKED, 'lex.capability_return': FOUND },
      ],
    ]),
  },
  'Go: messages flattened with brackets, the result in the messages of the next call': {
    ...USUAL,
    tokens: [30, 9],
    trace: trace([
      ['r', undefined, 'orla.Agent', {}],
      [
        'a',
        'r',
        'orla.Generate',
        {
          'orla.model': 'command-r',
          'orla.msg[0].role': 'user',
          'orla.msg[0].body': QUESTION,
          'orla.out.calls[0].id': 'c1',
          'orla.out.calls[0].fn': 'find_order',
          'orla.out.calls[0].args': JSON.stringify(ASKED),
          'orla.tokens_prompt': 10,
          'orla.tokens_completion': 4,
        },
      ],
      [
        'b',
        'r',
        'orla.Generate',
        {
          'orla.model': 'command-r',
          'orla.msg[0].role': 'user',
          'orla.msg[0].body': QUESTION,
          'orla.msg[1].role': 'assistant',
          'orla.msg[1].calls[0].id': 'c1',
          'orla.msg[1].calls[0].fn': 'find_order',
          'orla.msg[1].calls[0].args': JSON.stringify(ASKED),
          'orla.msg[2].role': 'tool',
          'orla.msg[2].call_id': 'c1',
          'orla.msg[2].body': JSON.stringify(FOUND),
          'orla.out.body': ANSWER,
          'orla.tokens_prompt': 20,
          'orla.tokens_completion': 5,
        },
      ],
    ]),
  },
  'Python: lists of dataclasses as their repr': {
    ...USUAL,
    trace: trace([
      [
        'a',
        undefined,
        'llm.generate',
        {
          'pyg.messages': `[Message(role='user', content='${QUESTION}')]`,
          'pyg.reply':
            "Message(role='assistant', content=None, tool_calls=[ToolCall(id='c1', name='find_order', args={'order_id': 7})])",
        },
      ],
      [
        'b',
        undefined,
        'llm.generate',
        {
          'pyg.messages': `[Message(role='user', content='${QUESTION}'), Message(role='assistant', content=None, tool_calls=[ToolCall(id='c1', name='find_order', args={'order_id': 7})]), Message(role='tool', tool_call_id='c1', content="{'status': 'shipped', 'from': 'Hamburg'}")]`,
          'pyg.reply': `Message(role='assistant', content='${ANSWER}')`,
        },
      ],
    ]),
  },
  'Python: an event a message, arguments and result of the tool as events of its span': {
    ...USUAL,
    trace: trace([
      [
        'r',
        undefined,
        'qx.run',
        { 'qx.kind': 'agent' },
        [
          ['qx.system.message', { content: JSON.stringify([{ text: SYSTEM }]) }],
          ['qx.user.message', { content: JSON.stringify([{ text: QUESTION }]) }],
          ['qx.choice', { message: ANSWER, finish_reason: 'end_turn' }],
        ],
      ],
      [
        't',
        'r',
        'execute_tool find_order',
        { 'qx.tool.name': 'find_order' },
        [
          ['qx.tool.message', { role: 'tool', content: JSON.stringify(ASKED), id: 'c1' }],
          ['qx.choice', { message: JSON.stringify([{ text: JSON.stringify(FOUND) }]), id: 'c1' }],
        ],
      ],
    ]),
  },
  'Java: prompts and completions in log records without names, told by their loggers': {
    question: QUESTION,
    answer: ANSWER,
    models: ['mistral-large'],
    trace: trace(
      [
        ['r', undefined, 'chat client', {}],
        ['a', 'r', 'chat mistral-large', { 'jv.model': 'mistral-large', 'jv.tokens.prompt': 12 }],
      ],
      [
        scoped(logOf('a', '', `Prompt:\n["${SYSTEM}", "${QUESTION}"]`, 1), 'shop.jv.ChatPromptLogger'),
        scoped(logOf('a', '', `Completion:\n["${ANSWER}"]`, 9), 'shop.jv.ChatCompletionLogger'),
      ],
    ),
  },
  'Swift: the answer in chunks, an event each': {
    question: QUESTION,
    answer: ANSWER,
    trace: trace([
      [
        'a',
        undefined,
        'LanguageModel.stream',
        { 'swi.model': 'on-device-3b', 'swi.userText': QUESTION },
        ANSWER.split(/(?<= )/).map((delta) => ['swi.chunk', { delta }]),
      ],
    ]),
  },
  'a coordinator that hands over to a second agent': {
    question: QUESTION,
    answer: ANSWER,
    agent: 'front-desk',
    trace: trace([
      [
        'r',
        undefined,
        'desk',
        { 'hd.type': 'agent', 'hd.agent_name': 'front-desk', 'hd.request': QUESTION, 'hd.response': ANSWER },
      ],
      [
        't',
        'r',
        'handoff',
        { 'hd.type': 'tool', 'hd.tool': 'handoff_to_orders', 'hd.args': { topic: 'order 7' } },
      ],
      [
        's',
        't',
        'desk',
        {
          'hd.type': 'agent',
          'hd.agent_name': 'orders',
          'hd.request': 'order 7',
          'hd.response': 'It left on Monday.',
        },
      ],
    ]),
  },
  'a retrieval whose passages are flattened into numbered keys': {
    question: QUESTION,
    answer: ANSWER,
    documents: ['Orders leave Hamburg on Mondays.', 'Order 7 is a book.'],
    trace: trace([
      [
        'r',
        undefined,
        'answer_question',
        { 'rt.question': QUESTION, 'rt.answer': ANSWER, 'rt.engine': 'phi-4' },
      ],
      [
        's',
        'r',
        'retrieve',
        {
          'rt.query': QUESTION,
          'rt.passages.0.text': 'Orders leave Hamburg on Mondays.',
          'rt.passages.0.relevance': 0.9,
          'rt.passages.1.text': 'Order 7 is a book.',
          'rt.passages.1.relevance': 0.4,
        },
      ],
    ]),
  },
  'a tool that fails, its message under a key': {
    question: QUESTION,
    answer: 'I cannot look that up now.',
    calls: ['find_order {"order_id":7} → output-error'],
    trace: trace([
      [
        'r',
        undefined,
        'assistant.turn',
        { 'zq.user_message': QUESTION, 'zq.assistant_message': 'I cannot look that up now.' },
      ],
      [
        't',
        'r',
        'assistant.tool',
        {
          'zq.tool_name': 'find_order',
          'zq.tool_params': ASKED,
          'zq.success': false,
          'zq.failure.message': 'orders are down',
        },
      ],
    ]),
  },
  'TypeScript: content in typed parts, also the call and its result': {
    ...USUAL,
    trace: trace([
      [
        'a',
        undefined,
        'model.stream',
        {
          'ts.prompt': [
            { role: 'system', content: SYSTEM },
            { role: 'user', content: [{ kind: 'text', text: QUESTION }] },
            {
              role: 'assistant',
              content: [{ kind: 'tool-call', callId: 'c1', tool: 'find_order', input: ASKED }],
            },
            {
              role: 'tool',
              content: [{ kind: 'tool-result', callId: 'c1', tool: 'find_order', output: FOUND }],
            },
          ],
          'ts.completion': [{ kind: 'text', text: ANSWER }],
          'ts.modelName': 'gpt-5',
        },
      ],
    ]),
  },
  'a loop that tells its steps as events of the parent': {
    ...USUAL,
    trace: trace([
      [
        'a',
        undefined,
        'react loop',
        { 'rl.goal': QUESTION, 'rl.final': ANSWER, 'rl.llm': 'llama-4' },
        [
          ['step.action', { tool: 'find_order', tool_input: JSON.stringify(ASKED) }],
          ['step.observation', { tool: 'find_order', observation: JSON.stringify(FOUND) }],
        ],
      ],
    ]),
  },
  'a decorated function at the root, its parameters and its return value': {
    question: QUESTION,
    answer: ANSWER,
    models: ['haiku-4'],
    calls: [],
    trace: trace([
      [
        'r',
        undefined,
        'handle_request',
        { 'fn.name': 'handle_request', 'fn.args': { question: QUESTION, locale: 'en' }, 'fn.return': ANSWER },
      ],
      [
        'a',
        'r',
        'complete',
        { 'fn.model': 'haiku-4', 'fn.prompt': `Answer shortly. ${QUESTION}`, 'fn.completion': ANSWER },
      ],
    ]),
  },
  'PHP: one document with everything of the exchange': {
    question: QUESTION,
    answer: ANSWER,
    models: ['deepseek-v3'],
    tokens: [5, 6],
    trace: trace([
      [
        'a',
        undefined,
        'ai.exchange',
        {
          'app.exchange': {
            model: 'deepseek-v3',
            request: { prompt: QUESTION },
            response: { text: ANSWER },
            usage: { prompt_tokens: 5, completion_tokens: 6 },
          },
        },
      ],
    ]),
  },
  'Ruby: one function call beside an empty completion': {
    ...USUAL,
    trace: trace([
      ['r', undefined, 'Agent#call', { 'rb.kind': 'agent' }],
      [
        'a',
        'r',
        'Llm#complete',
        {
          'rb.model': 'gpt-4.1',
          'rb.prompt': QUESTION,
          'rb.completion': '',
          'rb.function_call': { name: 'find_order', arguments: JSON.stringify(ASKED) },
        },
      ],
      ['t', 'r', 'Tool#call', { 'rb.function': 'find_order', 'rb.input': ASKED, 'rb.result': FOUND }],
      ['b', 'r', 'Llm#complete', { 'rb.model': 'gpt-4.1', 'rb.prompt': QUESTION, 'rb.completion': ANSWER }],
    ]),
  },
  'C#: keys in Pascal case': {
    ...USUAL,
    session: 'S-0042',
    trace: trace([
      [
        'r',
        undefined,
        'ContosoAgent.Invoke',
        {
          'Contoso.UserMessage': QUESTION,
          'Contoso.AssistantMessage': ANSWER,
          'Contoso.SessionId': 'S-0042',
        },
      ],
      [
        't',
        'r',
        'ContosoTool.Invoke',
        { 'Contoso.ToolName': 'find_order', 'Contoso.ToolInput': ASKED, 'Contoso.ToolOutput': FOUND },
      ],
    ]),
  },
  'a voice bot: what was heard and what is said, as events': {
    question: QUESTION,
    answer: ANSWER,
    trace: trace([
      [
        'a',
        undefined,
        'voice_agent.turn',
        { 'vb.call_sid': 'CA1' },
        [
          ['user.transcript', { text: QUESTION }],
          ['agent.speech', { text: ANSWER }],
        ],
      ],
    ]),
  },
  'a gateway: bodies of the request and the response on the span of the server': {
    question: QUESTION,
    answer: ANSWER,
    models: ['gpt-4o'],
    tokens: [8, 7],
    trace: trace([
      [
        'a',
        undefined,
        'POST /v1/chat/completions',
        {
          'http.request.method': 'POST',
          'http.response.status_code': 200,
          'gw.model': 'gpt-4o',
          'gw.request.body': { model: 'gpt-4o', messages: [{ role: 'user', content: QUESTION }] },
          'gw.response.body': {
            choices: [{ message: { role: 'assistant', content: ANSWER } }],
            usage: { prompt_tokens: 8, completion_tokens: 7 },
          },
        },
      ],
    ]),
  },
  'a client of MCP: parameters and content of tools/call below an agent': {
    ...USUAL,
    session: 'cv-5',
    trace: trace([
      [
        'r',
        undefined,
        'agent',
        { 'mc.conversation.id': 'cv-5', 'mc.input.text': QUESTION, 'mc.output.text': ANSWER },
      ],
      [
        't',
        'r',
        'tools/call find_order',
        {
          'mc.method': 'tools/call',
          'mc.params': { name: 'find_order', arguments: ASKED },
          'mc.result': { content: [{ type: 'text', text: JSON.stringify(FOUND) }] },
        },
      ],
    ]),
  },
};
