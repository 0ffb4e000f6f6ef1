import { z } from 'zod';
import { durationMs } from '../../config/units.ts';
import { duration, exportAttempts, httpUrl } from '../../config/schema/fields.ts';
import { readErrorMessage } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import type { Outcome } from '../deliver.ts';
import { askTool, showReply, type ToolReply } from '../http/ask-tool.ts';
import { deliveryFailed, type ScoreExporter } from './exporter.ts';

/** Longest time of a request, milliseconds. */
const TIMEOUT_MS = 10_000;

/** Requests at a time: a tool far away takes 0.1 s for each, and a run has ten scores. */
const AT_ONCE = 8;

/** Returns the options that every tool for traces has. */
export function toolOptions(example: string) {
  return {
    endpoint: httpUrl(`Address of the tool: \`${example}\`.`, 'write the keys into their own options').meta({
      examples: [example],
    }),
    scorers: z
      .array(z.string().min(1))
      .min(1, { error: 'name a scorer, or leave the key out: then all scores are sent' })
      .optional()
      .describe('Scorers whose scores are sent. Absent: all.'),
    attempts: exportAttempts,
    unknownFor: duration('Time for which a trace that the tool does not know yet is tried again.').default(
      '1h',
    ),
  };
}

interface ToolOptions {
  readonly endpoint: string;
  readonly scorers?: readonly string[] | undefined;
  readonly attempts: number;
  readonly unknownFor: string;
}

/** Sends a request to a path of the tool. Throws when no reply comes in time. */
export type AskTool = (
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
) => Promise<ToolReply>;

export interface ToolCalls {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  /** True for a tool that has scores of sessions. */
  readonly hasSessions: boolean;
  /** True for a score that the tool keys by a span: a score without one waits until its run is known. */
  readonly needsSpan?: boolean;
  /** Writes a score. `undefined`: the tool does not know its trace. */
  write(score: Score, ask: AskTool): Promise<ToolReply | undefined>;
  /** Deletes a score; 404 means that it is gone. Absent: the tool cannot. */
  remove?(score: Score, ask: AskTool): Promise<ToolReply>;
}

/** Creates the exporter of a tool that keys each score by its id: a score again changes nothing, a new revision updates. */
export function createToolExporter(options: ToolOptions, calls: ToolCalls): ScoreExporter {
  const { name } = calls;
  const base = options.endpoint.replace(/\/+$/u, '');
  const isChosen = ({ scorer, target, source, scoredBy }: Score) =>
    (target !== 'session' || calls.hasSessions) &&
    // A label that came from the tool.
    !(source === 'human' && scoredBy.startsWith(`${name}:`)) &&
    (options.scorers?.some((each) => scorer === each || scorer.startsWith(`${each}-`)) ?? true);
  return {
    name,
    maxBatch: 1,
    atOnce: AT_ONCE,
    hasDeletions: true,
    attempts: options.attempts,
    unknownForMs: durationMs(options.unknownFor),
    async send(scores, signal) {
      const ask = createAsk(base, calls.headers, signal);
      for (const score of scores) {
        if (!isChosen(score)) {
          return { kind: 'delivered', isSkipped: true };
        }
        try {
          const outcome = await (score.isDeleted ? removeScore : writeScore)(calls, score, ask);
          if (outcome.kind !== 'delivered') {
            return outcome;
          }
        } catch (cause) {
          const error = deliveryFailed(`${name} could not be reached: ${readErrorMessage(cause)}`, { cause });
          return { kind: 'away', error };
        }
      }
      return { kind: 'delivered' };
    },
  };
}

async function writeScore(calls: ToolCalls, score: Score, ask: AskTool): Promise<Outcome> {
  const isEarly = calls.needsSpan === true && score.spanId === '';
  return judgeReply(calls.name, score, isEarly ? undefined : await calls.write(score, ask));
}

async function removeScore(calls: ToolCalls, score: Score, ask: AskTool): Promise<Outcome> {
  if (calls.remove === undefined) {
    const message = `${calls.name} cannot delete a score: delete the score ${score.scoreId} of ${namePlace(score)} there`;
    return { kind: 'impossible', error: deliveryFailed(message) };
  }
  const reply = await calls.remove(score, ask);
  return reply.status === 404 ? { kind: 'delivered' } : judgeReply(calls.name, score, reply);
}

function createAsk(base: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): AskTool {
  return (method, path, body) =>
    askTool(`${base}${path}`, { method, headers, body, signal, timeoutMs: TIMEOUT_MS });
}

/** A key that the tool refuses is no fault of the score: the exporter waits for another key. */
const OF_RECEIVER = [401, 403, 429];
const OF_SCORE = [400, 409, 413, 422];

function judgeReply(name: string, score: Score, reply: ToolReply | undefined): Outcome {
  const place = namePlace(score);
  if (reply === undefined) {
    return { kind: 'unknown', error: deliveryFailed(`${name} does not know ${place}`) };
  }
  const { status, retryAfterMs: waitMs } = reply;
  if (status >= 200 && status < 300) {
    return { kind: 'delivered' };
  }
  const error = deliveryFailed(
    `${name} answered HTTP ${status} for a score of ${place}: ${showReply(reply)}`,
    { retryAfterMs: waitMs },
  );
  if (OF_RECEIVER.includes(status) || waitMs !== undefined) {
    return { kind: 'away', error };
  }
  return { kind: OF_SCORE.includes(status) ? 'refused' : 'failed', error };
}

function namePlace({ traceId, sessionId }: Score): string {
  return traceId === '' ? `session ${sessionId}` : `trace ${traceId}`;
}

/** Returns `undefined` for a reply that says that the trace is unknown. */
export function knownTrace(reply: ToolReply): ToolReply | undefined {
  return reply.status === 404 ? undefined : reply;
}

export function readAuthor({ source, judgeModel }: Score): 'HUMAN' | 'LLM' | 'CODE' {
  return source === 'human' ? 'HUMAN' : judgeModel === '' ? 'CODE' : 'LLM';
}

/** Returns the facts of a score that every tool gets, as texts. */
export function describeScore({
  scoreId,
  revision,
  judgeModel,
  traceId,
  sessionId,
}: Score): Record<string, string> {
  return {
    'spanscore.score_id': scoreId,
    'spanscore.revision': String(revision),
    'spanscore.judge_model': judgeModel,
    'spanscore.trace': traceId === '' ? `/sessions/${encodeURIComponent(sessionId)}` : `/traces/${traceId}`,
  };
}
