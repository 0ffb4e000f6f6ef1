import { z } from '@hono/zod-openapi';
import { TARGET_KINDS, type AgentRun } from '../../domain/trace/agent-run.ts';
import { Time, orNull } from './rows.ts';

const Count = z.number().nullable();

export const Usage = z
  .object({
    inputTokens: Count,
    outputTokens: Count,
    totalTokens: Count,
    reasoningTokens: Count,
    cachedInputTokens: Count,
    cacheWriteTokens: Count.optional().describe('Input tokens written to a cache. Only in readings.'),
  })
  .openapi('Usage');

const Message = z
  .looseObject({
    id: z.string(),
    role: z.enum(['user', 'assistant', 'system', 'signal']),
    content: z.looseObject({ parts: z.array(z.looseObject({ type: z.string() })).readonly() }),
  })
  .openapi('Message');

const SystemMessage = z.looseObject({ role: z.literal('system') }).openapi('SystemMessage');

const NotScorable = z.object({ code: z.string(), detail: z.string() }).openapi('NotScorable');

/** Runs and their sub-runs have the same shape. */
export const Run: z.ZodType<AgentRun> = z
  .object({
    target: z.object({ kind: z.enum(TARGET_KINDS), traceId: z.string(), spanId: z.string() }),
    conventions: z.array(z.string()).describe('Names of the conventions that read the run, richest first.'),
    agent: z.string().nullable(),
    agentVersion: z.string().nullable(),
    service: z.string().nullable(),
    serviceVersion: z.string().nullable(),
    environment: z.string().nullable(),
    sessionId: z.string().nullable(),
    userId: z.string().nullable(),
    models: z.array(z.string()),
    usage: Usage,
    startedAt: Time,
    endedAt: Time,
    status: z.enum(['ok', 'error']),
    error: z.object({ type: z.string().nullable(), message: z.string().nullable() }).nullable(),
    input: z.object({
      inputMessages: z.array(Message),
      rememberedMessages: z.array(Message),
      systemMessages: z.array(SystemMessage),
      taggedSystemMessages: z.record(z.string(), z.array(SystemMessage)),
    }),
    output: z.array(Message),
    documents: z.array(
      z.object({ id: z.string().nullable(), content: z.string(), score: z.number().nullable() }),
    ),
    tools: z
      .array(
        z.object({
          name: z.string(),
          description: z.string().optional(),
          parameters: z.unknown().optional(),
        }),
      )
      .optional()
      .describe('Tools that the models could call.'),
    context: z.array(z.string()),
    scorable: z.boolean(),
    notScorable: orNull(NotScorable),
    warnings: z.array(
      z.object({
        code: z.string(),
        spanId: z.string(),
        detail: z.string(),
        fields: z
          .record(z.string(), z.union([z.string(), z.array(z.string())]))
          .optional()
          .describe('Sources of the facts of a run that was read by the form of its values.'),
        ambiguous: z
          .record(z.string(), z.array(z.string()))
          .optional()
          .describe('Sources that were equally likely, so that none was taken.'),
      }),
    ),
    get subRuns() {
      return z.array(Run).describe('Agents called below this run.');
    },
  })
  .openapi('Run') as unknown as z.ZodType<AgentRun>;

/** Schema of a reading: what spanscore understands of the spans of a trace. */
export const Reading = z
  .object({
    traceId: z.string(),
    spanCount: z.number(),
    logCount: z.number(),
    runs: z.array(Run),
    notScorable: orNull(NotScorable),
    notUnderstood: z.array(
      z.object({
        spanId: z.string(),
        name: z.string(),
        service: z.string(),
        scope: z.string(),
        reason: z.string(),
        attributes: z.array(z.string()),
      }),
    ),
    truncated: z.boolean().describe('True when texts were cut.'),
  })
  .openapi('Reading');

/** Longest text in the reply of a trace, in characters. Other routes give it whole. */
const MAX_TEXT = 16_384;

/** Most characters of all texts together. Further texts are cut to `MAX_LATE_TEXT`. */
export const MAX_TEXTS = 8 * 1024 * 1024;
const MAX_LATE_TEXT = 200;

export type TextCutter = ReturnType<typeof createTextCutter>;

export function createTextCutter(longest = MAX_TEXT) {
  let left = MAX_TEXTS;
  const cutText = (text: string): string => {
    const most = left > 0 ? longest : MAX_LATE_TEXT;
    const kept = text.length > most ? cutWhole(text, most) : text;
    left -= kept.length;
    return kept;
  };
  return {
    /** Returns a value with its texts cut, and whether any was. */
    cut: <T>(value: T) => {
      let truncated = false;
      const walk = (item: unknown): unknown => {
        if (typeof item === 'string') {
          const kept = cutText(item);
          truncated ||= kept.length < item.length;
          return kept;
        }
        if (Array.isArray(item)) {
          return item.map(walk);
        }
        return isRecord(item)
          ? Object.fromEntries(Object.entries(item).map(([name, each]) => [name, walk(each)]))
          : item;
      };
      return { value: walk(value) as T, truncated };
    },
  };
}

/** Cuts a text without splitting a character. */
function cutWhole(text: string, most: number): string {
  const code = text.charCodeAt(most - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? most - 1 : most);
}

function isRecord(item: unknown): item is Record<string, unknown> {
  if (item === null || typeof item !== 'object') {
    return false;
  }
  const prototype: unknown = Object.getPrototypeOf(item);
  return prototype === Object.prototype || prototype === null;
}
