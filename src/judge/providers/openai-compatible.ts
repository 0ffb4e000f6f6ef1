import type { JudgeModelObject } from '../model-call.ts';
import type { ProviderAccess, ProviderKind } from './provider.ts';

/** Any server with OpenAI's chat completions API. */
export const openaiCompatible: ProviderKind = {
  name: 'openai-compatible',
  openModel: (id, access) => openChatModel(id, access),
};

type TransformBody = (body: Record<string, unknown>) => Record<string, unknown>;

export async function openChatModel(
  id: string,
  { name, baseURL, apiKey, fetch }: ProviderAccess,
  transformRequestBody?: TransformBody,
): Promise<JudgeModelObject> {
  // Loaded with the first question, so that a program which only imports scorers does not load it.
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({
    name,
    baseURL,
    fetch,
    supportsStructuredOutputs: true,
    ...(transformRequestBody === undefined ? {} : { transformRequestBody }),
    ...(apiKey === undefined ? {} : { apiKey }),
  }).chatModel(id);
}
