import type { Attributes } from '../../domain/trace/span.ts';
import { readStructure, readText } from '../attributes.ts';
import { requestIn, responseIn } from '../messages/payloads.ts';
import type { Convention, NormalMessage, SpanFacts, SpanView } from '../normalised-span.ts';

/**
 * Model calls with the whole prompt and the whole completion in one attribute each, on the span or on an event: OpenTelemetry
 * before 1.28, OpenLIT's older versions, LangSmith, OpenRouter.
 */
export const otelGenaiContent: Convention = { name: 'otel-genai-content', detect, read };

const PROMPT = 'gen_ai.prompt';
const COMPLETION = 'gen_ai.completion';
const EVENTS = new Set(['gen_ai.content.prompt', 'gen_ai.content.completion']);

const LINE_ROLE = /^(system|user|assistant|tool): /;

function listSources({ span }: SpanView): Attributes[] {
  return [
    span.attributes,
    ...span.events.filter((event) => EVENTS.has(event.name)).map((event) => event.attributes),
  ];
}

function detect(view: SpanView): boolean {
  return listSources(view).some((source) => source.has(PROMPT) || source.has(COMPLETION));
}

function read(view: SpanView): SpanFacts {
  const operation = view.span.attributes.get('gen_ai.operation.name');
  if (operation === 'execute_tool') {
    return {};
  }
  const sources = listSources(view);
  const readValue = (key: string): unknown => {
    const source = sources.find((one) => readText(one, key) !== undefined);
    return source === undefined ? undefined : readStructure(view, source, key);
  };
  const prompt = readValue(PROMPT);
  const completion = readValue(COMPLETION);
  const lines = typeof prompt === 'string' ? fromLines(prompt) : undefined;
  const output = responseIn(completion);
  return {
    role: operation === undefined && completion !== undefined ? 'llm' : undefined,
    ...(lines === undefined ? requestIn(prompt) : { input: lines }),
    output: view.span.statusCode === 'Error' && output?.length === 0 ? undefined : output,
  };
}

/** Reads a conversation in the form of text, one `role: content` after the other. */
function fromLines(text: string): NormalMessage[] | undefined {
  if (!LINE_ROLE.test(text)) {
    return undefined;
  }
  const messages: { role: NormalMessage['role']; lines: string[] }[] = [];
  for (const line of text.split('\n')) {
    const role = LINE_ROLE.exec(line)?.[1];
    if (role !== undefined) {
      messages.push({ role: role as NormalMessage['role'], lines: [line.slice(role.length + 2)] });
    } else {
      messages.at(-1)?.lines.push(line);
    }
  }
  return messages.map(({ role, lines }) => ({ role, parts: [{ type: 'text', text: lines.join('\n') }] }));
}
