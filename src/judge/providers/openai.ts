import { openChatModel } from './openai-compatible.ts';
import type { ProviderKind } from './provider.ts';

export const openai: ProviderKind = {
  name: 'openai',
  baseURL: 'https://api.openai.com/v1',
  keyVariable: 'OPENAI_API_KEY',
  // OpenAI's models that think refuse the former name of the limit; all of them take the present one.
  openModel: (id, access) =>
    openChatModel(id, access, ({ max_tokens: limit, ...body }) =>
      limit === undefined ? body : { ...body, max_completion_tokens: limit },
    ),
};
