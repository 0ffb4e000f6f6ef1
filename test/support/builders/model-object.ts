import type { JudgeModelObject } from '../../../src/judge/model-call.ts';

export interface ModelObjectCall {
  prompt: { role: string; content: unknown }[];
  temperature?: number;
  abortSignal?: AbortSignal;
  responseFormat?: { type: string; schema?: unknown };
}

/** Creates a language model object of the AI SDK (specification v4). A function of the call returns its text. */
export function modelObject(
  reply: (call: ModelObjectCall, count: number) => string | Promise<string>,
  more: { finishReason?: unknown; usage?: unknown; modelId?: string } = {},
): JudgeModelObject & { calls: ModelObjectCall[] } {
  const calls: ModelObjectCall[] = [];
  return {
    calls,
    provider: 'scripted',
    modelId: more.modelId ?? 'judge-1',
    async doGenerate(options: never) {
      const call = options as ModelObjectCall;
      calls.push(call);
      return {
        content: [{ type: 'text', text: await reply(call, calls.length) }],
        finishReason: more.finishReason ?? { unified: 'stop', raw: 'stop' },
        usage: more.usage ?? {
          inputTokens: { total: 100, noCache: 60, cacheRead: 40, cacheWrite: undefined },
          outputTokens: { total: 10, text: 10, reasoning: 0 },
        },
        warnings: [],
      };
    },
  };
}
