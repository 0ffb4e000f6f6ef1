/** One reply of a scripted model: an object as JSON, a text, raw text, or a failure of the provider. */
export interface ScriptedModelReply {
  readonly json?: unknown;
  readonly text?: string;
  readonly raw?: string;
  readonly fail?: string;
}

export interface ScriptedModelCall {
  readonly system: string;
  readonly prompt: string;
  /** True when the caller requested an object, not a text. */
  readonly wantsObject: boolean;
}

/** Language model object of the AI SDK that replies from a list and records its calls. */
export interface ScriptedModel {
  readonly specificationVersion: 'v3';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  readonly calls: ScriptedModelCall[];
  doGenerate(options: unknown): Promise<object>;
  doStream(options: unknown): Promise<never>;
}

interface CallOptions {
  readonly prompt: PromptMessage[];
  readonly responseFormat?: { readonly type: string };
}

interface PromptMessage {
  role: string;
  content: string | { type: string; text?: string }[];
}

/**
 * Creates a scripted model. Each call takes the next reply. A call without a reply left throws, so a test cannot pass with
 * unexpected calls.
 */
export function scriptedModel(
  replies: readonly ScriptedModelReply[] | ((call: ScriptedModelCall) => ScriptedModelReply),
  modelId = 'scripted-1',
): ScriptedModel {
  const calls: ScriptedModelCall[] = [];
  return {
    specificationVersion: 'v3',
    provider: 'scripted',
    modelId,
    supportedUrls: {},
    calls,
    doGenerate: async (options) => {
      const call = readCall(options as CallOptions);
      calls.push(call);
      const reply = typeof replies === 'function' ? replies(call) : replies[calls.length - 1];
      if (reply === undefined || reply.fail !== undefined) {
        throw new Error(reply?.fail ?? `question ${calls.length} was not scripted`);
      }
      return buildReply(reply.raw ?? reply.text ?? JSON.stringify(reply.json), modelId);
    },
    doStream: async () => {
      throw new Error('a scripted model does not stream');
    },
  };
}

function readCall({ prompt, responseFormat }: CallOptions): ScriptedModelCall {
  const formatText = (role: string): string =>
    prompt
      .filter((message) => message.role === role)
      .map(({ content }) =>
        typeof content === 'string' ? content : content.map((part) => part.text ?? '').join(''),
      )
      .join('\n');
  return {
    system: formatText('system'),
    prompt: formatText('user'),
    wantsObject: responseFormat?.type === 'json',
  };
}

function buildReply(text: string, modelId: string): object {
  return {
    content: [{ type: 'text', text }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 5, text: 5, reasoning: undefined },
    },
    response: { modelId },
    warnings: [],
  };
}
