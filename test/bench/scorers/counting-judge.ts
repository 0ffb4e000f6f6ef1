/** A judge that answers from a list, at once, and counts what it is asked. */
export interface CountingJudge {
  /** A language model object of the AI SDK. */
  readonly model: object;
  readonly calls: number;
  /** Characters of system message, user message and schema, divided by 4. */
  readonly inputTokens: number;
  /** Tokens of the material alone: the user messages up to the end of their data, or whole ones without such an end. */
  readonly materialTokens: number;
}

const CHARS_PER_TOKEN = 4;
const END_OF_DATA = /^<<<([a-p]+)\n[^\n]*\n\1>>>/;

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

interface CallOptions {
  readonly prompt: readonly {
    readonly role: string;
    readonly content: string | readonly { readonly text?: string }[];
  }[];
  readonly responseFormat?: { readonly schema?: Schema };
}

/** The list begins again when it has come to its end. Of each reply come the fields that the schema of the question names. */
export function createCountingJudge(replies: readonly (object | string)[]): CountingJudge {
  let calls = 0;
  let chars = 0;
  let materialChars = 0;
  const answer = ({ prompt, responseFormat }: CallOptions): string => {
    const reply = replies[calls % replies.length] ?? '';
    calls += 1;
    for (const { role, content } of prompt) {
      const text = typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');
      chars += text.length;
      materialChars += role === 'user' ? (END_OF_DATA.exec(text)?.[0] ?? text).length : 0;
    }
    chars += responseFormat?.schema === undefined ? 0 : JSON.stringify(responseFormat.schema).length;
    return typeof reply === 'string' ? reply : JSON.stringify(fitted(reply, responseFormat?.schema));
  };
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const finishReason = { unified: 'stop', raw: 'stop' };
  const model = {
    specificationVersion: 'v3',
    provider: 'counting',
    modelId: 'instant',
    supportedUrls: {},
    doGenerate: async (options: CallOptions) => ({
      content: [{ type: 'text', text: answer(options) }],
      finishReason,
      usage,
      response: { modelId: 'instant' },
      warnings: [],
    }),
    doStream: async (options: CallOptions) => {
      const delta = answer(options);
      return {
        stream: ReadableStream.from([
          { type: 'stream-start', warnings: [] },
          { type: 'text-start', id: '1' },
          { type: 'text-delta', id: '1', delta },
          { type: 'text-end', id: '1' },
          { type: 'finish', finishReason, usage },
        ]),
      };
    },
  };
  return {
    model,
    get calls() {
      return calls;
    },
    get inputTokens() {
      return Math.round(chars / CHARS_PER_TOKEN);
    },
    get materialTokens() {
      return Math.round(materialChars / CHARS_PER_TOKEN);
    },
  };
}

function fitted(value: unknown, schema: Schema | undefined): unknown {
  const { properties, items } = schema ?? {};
  if (Array.isArray(value) && items !== undefined) {
    return value.map((item) => fitted(item, items));
  }
  if (typeof value !== 'object' || value === null || properties === undefined) {
    return value;
  }
  const named = Object.entries(value).filter(([name]) => name in properties);
  return Object.fromEntries(named.map(([name, member]) => [name, fitted(member, properties[name])]));
}
