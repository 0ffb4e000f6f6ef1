import type { AgentPast } from '../../domain/behaviour/measures.ts';
import { readErrorMessage } from '../../domain/errors.ts';
import { HOUR_MS } from '../../domain/durations.ts';
import { joinAgentKey, type AgentKey, type AgentPastStore } from '../../store/contracts/agent-pasts.ts';
import type { Log } from '../../telemetry/log.ts';
import { formatScoreName } from '../record/score-rows.ts';

/** Part of the time that reads of pasts may take. */
const READ_SHARE = 0.01;

/** Least and greatest time between two reads, milliseconds. */
const WAIT_MS = { least: 5_000, most: HOUR_MS };

/** Pasts of agents, read from the store and kept for a while: a store with few scores is read every 5 s, a large one at most every hour. */
export interface AgentPasts {
  /** Returns the past of an agent by the rows of a scorer; undefined for a new agent. Throws what the store throws at the first read. */
  find(scorer: string, key: AgentKey): Promise<AgentPast | undefined>;
}

interface Known {
  pasts: Promise<ReadonlyMap<string, AgentPast>>;
  nextMs: number;
}

export function createAgentPasts(
  store: AgentPastStore,
  { monotonicMs, log }: { readonly monotonicMs: () => number; readonly log: Log },
): AgentPasts {
  const byScorer = new Map<string, Known>();
  const read = async (scorer: string, known: Known) => {
    const startedMs = monotonicMs();
    known.nextMs = Infinity;
    try {
      return await store.read((row) => formatScoreName(scorer, row));
    } finally {
      const tookMs = monotonicMs() - startedMs;
      known.nextMs = monotonicMs() + Math.min(WAIT_MS.most, Math.max(WAIT_MS.least, tookMs / READ_SHARE));
    }
  };
  /** Reads again while the present pasts are still used. */
  const refresh = (scorer: string, known: Known) => {
    read(scorer, known).then(
      (pasts) => {
        known.pasts = Promise.resolve(pasts);
      },
      (error: unknown) =>
        log.warn('the past of agents was not read; ranges and paths stay as they were', {
          scorer,
          error: readErrorMessage(error),
        }),
    );
  };
  const readFirst = (scorer: string): Known => {
    const known: Known = { pasts: Promise.resolve(new Map()), nextMs: Infinity };
    known.pasts = read(scorer, known);
    byScorer.set(scorer, known);
    known.pasts.catch(() => byScorer.delete(scorer));
    return known;
  };
  return {
    async find(scorer, key) {
      const known = byScorer.get(scorer) ?? readFirst(scorer);
      if (monotonicMs() >= known.nextMs) {
        refresh(scorer, known);
      }
      return (await known.pasts).get(joinAgentKey(key));
    },
  };
}
