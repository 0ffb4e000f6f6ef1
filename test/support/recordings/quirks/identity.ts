import { CHAT, facts, type Quirk } from './span-facts.ts';

/** Quirks where the value of a key does not have the meaning of its name. */
export const identity: readonly Quirk[] = [
  [
    'Q56 LangSmith’s session name is a project',
    () =>
      facts({
        'langsmith.span.kind': 'llm',
        'langsmith.trace.session_name': 'project',
        'langsmith.metadata.thread_id': 't1',
      }).session,
    't1',
  ],
  [
    'Q57 a response’s id is no conversation',
    () => facts({ ...CHAT, 'gen_ai.conversation.id': 'resp_1' }).session,
    undefined,
  ],
  [
    'Q59 LangSmith’s provider of a chain is a framework',
    () =>
      facts({
        'langsmith.span.kind': 'chain',
        'gen_ai.operation.name': 'chain',
        'gen_ai.system': 'langchain',
        'gen_ai.completion': '{}',
      }).role,
    'container',
  ],
  [
    'Q59 a framework’s name is no provider',
    () =>
      ['langchain', 'strands-agents', 'microsoft.agent_framework', 'autogen'].flatMap((name) => [
        facts({ ...CHAT, 'gen_ai.system': name }).provider,
        facts({ ...CHAT, 'gen_ai.provider.name': name, 'gen_ai.system': 'openai' }).provider,
      ]),
    Array.from({ length: 4 }, () => [undefined, 'openai']).flat(),
  ],
  [
    'Q60 Anthropic’s input leaves its cache out',
    () =>
      facts({
        'span.type': 'claude_code.llm_request',
        input_tokens: 3,
        cache_read_tokens: 10,
        cache_creation_tokens: 2,
      }).usage,
    { inputTokens: 15, cachedInputTokens: 10, cacheWriteTokens: 2 },
  ],
];
