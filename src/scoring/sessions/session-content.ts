import { type AgentRun, type RetrievedDocument, addUsage } from '../../domain/trace/agent-run.ts';
import type { AgentMessage } from '../../domain/trace/messages.ts';

/** A session that was read as one conversation. */
export interface SessionContent {
  readonly session: AgentRun;
  /** Number of turns that were read. */
  readonly turns: number;
  /** True when turns were left out: the session has more than are read at once. */
  readonly isPartial: boolean;
}

/**
 * Builds one run of the turns of a session. The question is that of the last turn, so that it goes with the last answer. The
 * history is the conversation before it, the output is the answers of all turns, and the context is that of all turns. A turn
 * that cannot be scored counts for usage, models and time only. `turns` are in order of time and not empty.
 */
export function buildSessionContent(
  sessionId: string,
  turns: readonly AgentRun[],
  leftOut: number,
): SessionContent {
  const spoken = turns.filter(({ scorable }) => scorable);
  const [first] = spoken.length > 0 ? spoken : turns;
  const last = spoken.at(-1) ?? turns.at(-1);
  if (first === undefined || last === undefined) {
    throw new RangeError('a session without turns has no content');
  }
  const before = spoken.slice(0, -1).flatMap(({ input, output }) => [...input.inputMessages, ...output]);
  const detail = `the session has more turns than are read at once: ${leftOut} earlier ones were left out`;
  return {
    session: {
      ...last,
      target: { kind: 'session', traceId: '', spanId: '' },
      conventions: unique(turns.flatMap((turn) => turn.conventions)),
      sessionId,
      userId: findLast(turns, (turn) => turn.userId),
      models: unique(turns.toReversed().flatMap((turn) => turn.models)),
      usage: turns.map((turn) => turn.usage).reduce(addUsage),
      startedAt: turns.map((turn) => turn.startedAt).reduce((a, b) => (a < b ? a : b)),
      endedAt: turns.map((turn) => turn.endedAt).reduce((a, b) => (a > b ? a : b)),
      input: {
        ...last.input,
        rememberedMessages: [...first.input.rememberedMessages, ...before],
      },
      output: spoken.flatMap((turn): AgentMessage[] => turn.output),
      documents: uniqueDocuments(spoken.flatMap((turn) => turn.documents)),
      ...mergeTools(spoken),
      context: unique(spoken.flatMap((turn) => turn.context)),
      warnings: [
        ...turns.flatMap((turn) => turn.warnings),
        ...(leftOut > 0 ? [{ code: 'session_too_long', spanId: '', detail }] : []),
      ],
      subRuns: [],
    },
    turns: turns.length,
    isPartial: leftOut > 0,
  };
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

function mergeTools(turns: readonly AgentRun[]): Pick<AgentRun, 'tools'> {
  const tools = [
    ...new Map(turns.flatMap((turn) => turn.tools ?? []).map((tool) => [tool.name, tool])).values(),
  ];
  return tools.length === 0 ? {} : { tools };
}

function uniqueDocuments(documents: readonly RetrievedDocument[]): RetrievedDocument[] {
  return [...new Map(documents.map((each) => [JSON.stringify([each.id, each.content]), each])).values()];
}

function findLast(turns: readonly AgentRun[], read: (turn: AgentRun) => string | null): string | null {
  return turns.map(read).findLast((value) => value !== null) ?? null;
}
