import type { Attributes } from '../../domain/trace/span.ts';
import { readCount, readText, rolesOf } from '../attributes.ts';
import { structureIn, parseIfText } from '../json.ts';
import { textPart } from '../messages/part-reader.ts';
import { readMessages, readSystem } from '../messages/read-messages.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/** Claude Code's own traces: one interaction per prompt, with its model requests and tools below it. */
export const claudeCode: Convention = {
  name: 'claude-code',
  detect: ({ span }) =>
    span.scopeName === SCOPE || span.attributes.get('span.type')?.startsWith('claude_code.') === true,
  read,
  signals: { keyPrefixes: ['claude_code'], scopePrefixes: ['com.anthropic.claude_code'] },
  switches: [
    {
      emitter: 'Claude Code',
      scopes: ['com.anthropic.claude_code*'],
      setting:
        'set OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_TOOL_DETAILS=1 and OTEL_LOG_TOOL_CONTENT=1 (spans need CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1)',
      source: 'monitoring page of Claude Code’s documentation, and Braintrust’s guide to its traces',
    },
  ],
};

const SCOPE = 'com.anthropic.claude_code.tracing';

const TYPE_ROLES = rolesOf({
  agent: 'interaction',
  llm: 'llm_request',
  tool: 'tool',
  container: 'tool.execution tool.blocked_on_user hook',
});

const OUTPUT_EVENT = 'tool.output';

/** Reads the type of a span; some versions leave the prefix out. */
function readType({ span }: SpanView): string {
  return (span.attributes.get('span.type') ?? span.name).replace(/^claude_code\./, '');
}

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const role = TYPE_ROLES.get(readType(view)) ?? 'container';
  const facts: SpanFacts = {
    role,
    session: readText(attributes, 'session.id'),
    user: readText(attributes, 'user.id'),
  };
  if (role === 'agent') {
    const input = readMessages(readText(attributes, 'user_prompt'), 'user');
    return { ...facts, agent: 'claude-code', input };
  }
  if (role === 'llm') {
    return { ...facts, ...modelCallFacts(attributes) };
  }
  return role === 'tool' ? { ...facts, ...toolFacts(view) } : facts;
}

function modelCallFacts(attributes: Attributes): SpanFacts {
  const count = (key: string): number | null => readCount(attributes, key) ?? null;
  const input = [count('input_tokens'), count('cache_read_tokens'), count('cache_creation_tokens')];
  return {
    model: readText(attributes, 'model'),
    finishReason: readText(attributes, 'stop_reason'),
    system: readSystem(readText(attributes, 'system_prompt_preview')),
    input: readMessages(readText(attributes, 'new_context'), 'user'),
    output: textPart(readText(attributes, 'response.model_output')),
    usage: {
      // Anthropic counts what it read from its cache beside the input, not in it.
      inputTokens: input[0] === null ? null : input.reduce<number>((sum, one) => sum + (one ?? 0), 0),
      outputTokens: count('output_tokens'),
      cachedInputTokens: count('cache_read_tokens'),
      cacheWriteTokens: count('cache_creation_tokens'),
    },
  };
}

function toolFacts({ span }: SpanView): SpanFacts {
  const { attributes } = span;
  const args = readText(attributes, 'tool_input');
  const event = span.events.find((one) => one.name === OUTPUT_EVENT);
  const command = readText(attributes, 'full_command');
  return {
    toolName: readText(attributes, 'tool_name'),
    toolCallId: readText(attributes, 'tool_use_id', 'gen_ai.tool.call.id'),
    agent: readText(attributes, 'subagent_type'),
    toolArgs: structureIn(args) ?? args ?? (command === undefined ? undefined : { command }),
    toolResult: parseIfText(event && readText(event.attributes, 'output', 'content', 'diff')),
  };
}
