import { readStructure, readText, rolesOf } from '../attributes.ts';
import { parseIfText, parseValue } from '../json.ts';
import { readSystem } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, SpanFacts, SpanView } from '../normalised-span.ts';

/** Koog (JetBrains): `otel-genai` with differences of its own. Its scope is the name of the service, so its keys show it. */
export const koog: Convention = {
  name: 'koog',
  detect,
  read: readKoog,
  signals: { keyPrefixes: ['koog.'], scopePrefixes: ['ai.koog'] },
  switches: {
    emitter: 'Koog',
    scopes: ['ai.koog'],
    setting: 'call setVerbose(true) on Koog’s OpenTelemetry feature',
    source: 'recorded: koog-agents 1.1.1',
  },
};

const KEYS = ['koog.event.id', 'koog.node.id', 'koog.strategy.name'];

function detect({ span: { scopeName, attributes } }: SpanView): boolean {
  const isOwn = scopeName === 'ai.koog' || KEYS.some((key) => attributes.has(key));
  return isOwn || attributes.get('gen_ai.provider.name') === 'koog';
}

function readKoog(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const operation = attributes.get('gen_ai.operation.name');
  const isStep = attributes.has('koog.node.id') || attributes.has('koog.strategy.name');
  const facts: SpanFacts = {
    role: operation === undefined && isStep ? 'container' : undefined,
    system: readSystem(readStructure(view, 'system_instructions')),
    // It writes `[stop]`, a list that is not JSON.
    finishReason: /^\[([\w-]+)\]$/.exec(attributes.get('gen_ai.response.finish_reasons') ?? '')?.[1],
  };
  if (operation === 'invoke_agent') {
    return {
      ...facts,
      agent: readText(attributes, 'gen_ai.agent.name', 'gen_ai.agent.id'),
      // Both lists are the conversation before the run, and the counts are zero: neither question nor answer.
      withheld: ['input', 'output', 'usage'],
    };
  }
  const [toolArgs, toolResult] = ['input.value', 'output.value'].map((key) =>
    parseIfText(readText(attributes, key)),
  );
  // Before 1.0, arguments and results of tools have names without a prefix.
  return attributes.has('gen_ai.tool.name') ? { ...facts, toolArgs, toolResult } : facts;
}

const MODEL_PROMPT = 'org.springframework.ai.chat.observation.ChatModelPromptContentObservationHandler';
const MODEL_COMPLETION = 'org.springframework.ai.chat.observation.ChatModelCompletionObservationHandler';
const CLIENT_PROMPT =
  'org.springframework.ai.chat.client.observation.ChatClientPromptContentObservationHandler';
const CLIENT_COMPLETION =
  'org.springframework.ai.chat.client.observation.ChatClientCompletionObservationHandler';

/** Spring AI 1 and 2: texts are log records, in brackets and quotes without escapes, mostly without roles. The rest of a call is `otel-genai`. */
export const springAi: Convention = {
  name: 'spring-ai',
  logScopes: [MODEL_PROMPT, MODEL_COMPLETION, CLIENT_PROMPT, CLIENT_COMPLETION],
  detect: ({ span, logs }) =>
    span.attributes.has('spring.ai.kind') ||
    (span.scopeName === 'org.springframework.boot' && span.attributes.has('gen_ai.operation.name')) ||
    logs.some((log) => springAi.logScopes?.includes(log.scopeName)),
  read: readSpringAi,
  signals: { keyPrefixes: ['spring.ai.'], scopePrefixes: ['org.springframework.ai.'] },
  switches: {
    emitter: 'Spring AI',
    scopes: ['org.springframework*'],
    setting:
      'set spring.ai.chat.observations.log-prompt, spring.ai.chat.observations.log-completion and spring.ai.tools.observations.include-content to true, and export logs (the OpenTelemetry appender of Logback)',
    source: 'recorded: spring-ai 2.0.1 and 1.1.6',
  },
};

const KIND_ROLES = rolesOf({
  agent: 'chat_client',
  container: 'advisor',
  tool: 'tool_call',
});

/** Versions of Spring Boot with Spring AI 1: there the usage of a model call after a tool call includes the calls before it. */
const ADDS_UP = /^3\./;

function readSpringAi(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const kind = attributes.get('spring.ai.kind');
  if (kind === 'tool_call') {
    return { role: 'tool', ...toolFacts(view) };
  }
  if (kind === 'vector_store') {
    return { role: attributes.get('db.operation.name') === 'query' ? 'retriever' : 'other' };
  }
  const goesOn = attributes.get('gen_ai.response.finish_reasons')?.includes('TOOL_CALLS') === true;
  return {
    role: KIND_ROLES.get(kind ?? ''),
    session: readText(attributes, 'spring.ai.chat.client.conversation.id'),
    isUsageRepeated: (goesOn && ADDS_UP.test(view.span.scopeVersion)) || undefined,
    ...(kind === 'chat_client' ? clientTexts(view) : modelTexts(view)),
  };
}

/** Reads a tool. Its result is JSON; any other text is the message of the error that the tool threw. */
function toolFacts({ span }: SpanView): SpanFacts {
  const result = readText(span.attributes, 'spring.ai.tool.call.result');
  const isFailure = result !== undefined && !isJson(result);
  return {
    toolName: readText(span.attributes, 'spring.ai.tool.definition.name'),
    toolCallId: readText(span.attributes, 'spring.ai.tool.call.id'),
    toolArgs: parseIfText(readText(span.attributes, 'spring.ai.tool.call.arguments')),
    toolResult: isFailure ? undefined : parseIfText(result),
    error: isFailure ? { type: null, message: result } : undefined,
  };
}

function isJson(text: string): boolean {
  const value = parseValue(text);
  return typeof value !== 'string' || text.startsWith('"');
}

/** Finds the text that a handler logged for this span, between the outermost brackets; undefined without a log. */
function logged({ logs }: SpanView, scope: string): string | undefined {
  const body = logs.find((log) => log.scopeName === scope)?.body;
  const [start, end] = body === undefined ? [-1, -1] : [body.indexOf('['), body.lastIndexOf(']')];
  return body === undefined || start < 0 || end < start ? undefined : body.slice(start + 1, end);
}

/** Lists quoted texts with commas between; neither quotes nor line ends in them are escaped. */
function textsIn(list: string | undefined): string[] {
  const inner = list?.startsWith('"') === true && list.endsWith('"') ? list.slice(1, -1) : '';
  // A call that only asked for tools is logged without text: "" or, in Spring AI 1, "null".
  return inner.split('", "').filter((text) => text !== '' && text !== 'null');
}

/** Reads the texts of a model call: they alternate and the last is the user's, so an even number begins with a system text. A warning says so. */
function modelTexts(view: SpanView): SpanFacts {
  const texts = textsIn(logged(view, MODEL_PROMPT));
  if (texts.length > 0) {
    const detail =
      'Spring AI logs texts without roles: the first of an even number is taken for the system text, the last for the question';
    view.warnings.push({ code: 'roles_unknown', spanId: view.span.spanId, detail });
  }
  const system = texts.length % 2 === 0 ? texts.slice(0, 1) : [];
  const spoken = texts.slice(system.length);
  return {
    system,
    input: spoken.map((text, index) => textMessage(index % 2 === 0 ? 'user' : 'assistant', text)),
    output: answerOf(view, MODEL_COMPLETION),
  };
}

/** Reads the application's messages, which Spring AI 1 logs with roles: `["system":"…", "user":"…"]`. */
function clientTexts(view: SpanView): SpanFacts {
  const prompt = logged(view, CLIENT_PROMPT) ?? '';
  const input = prompt.split(/(?:^|", )(?="(?:system|user|assistant|tool)":")/).flatMap((entry) => {
    const [, role, text = ''] = /^"(system|user|assistant)":"([\s\S]*?)"?$/.exec(entry) ?? [];
    return text === '' ? [] : [textMessage(role as NormalMessage['role'], text)];
  });
  return { input, output: answerOf(view, CLIENT_COMPLETION) };
}

function answerOf(view: SpanView, scope: string): SpanFacts['output'] {
  const text = textsIn(logged(view, scope)).join('", "');
  return text === '' ? undefined : [{ type: 'text', text }];
}

function textMessage(role: NormalMessage['role'], text: string): NormalMessage {
  return { role, parts: [{ type: 'text', text }] };
}
