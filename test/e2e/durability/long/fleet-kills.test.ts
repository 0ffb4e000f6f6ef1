import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { reportFigures } from '../../../support/durability/report-figures.ts';
import { CALL_USD, CAPPED, FREE, KilledFleet } from '../../../support/overlaps/killed-fleet.ts';
import { until } from '../../../support/until.ts';

/** Time of the load and the kills. The whole proof takes five minutes: SPANSCORE_FLEET_SECONDS=300. */
const LOAD_MS = Number(process.env['SPANSCORE_FLEET_SECONDS'] ?? 30) * 1_000;

/** The money of the limited rule ends before the load does: it pays for about two calls a second. */
const CAP_USD = (LOAD_MS / 1_000) * 2 * CALL_USD;

/** A killed process is missed after 15 s, and its traces are found by the sweep after up to ten minutes. */
const DECIDED_WITHIN_MS = 900_000;
/** A late repetition would come in this time. */
const QUIET_MS = 5_000;

/** Most calls per score: beside other test files, replies wait longer for their rows, and a kill loses more of them. */
const MOST_CALLS_PER_SCORE = LOAD_MS >= 300_000 ? 1.05 : 1.2;

it(
  'four scorers, one killed every ten seconds, decide every trace, judge hardly any twice, and keep to the budget',
  { timeout: LOAD_MS + 2 * DECIDED_WITHIN_MS },
  async () => {
    const fleet = await KilledFleet.create(CAP_USD);
    try {
      await fleet.start();
      fleet.traces.start();
      await fleet.killFor(LOAD_MS);
      await fleet.traces.finish();
      const loadedMs = performance.now();
      const traceIds = [...fleet.traces.acknowledged.keys()];
      const findOpen = async () => {
        const { decisions } = await fleet.readRows();
        const isDecided = ({ rule, status, reason }: (typeof decisions)[number]) =>
          status === 'scored' || (rule === CAPPED.rule && reason.startsWith('budget_exhausted'));
        const decided = new Set(decisions.filter(isDecided).map(({ traceId, rule }) => `${traceId} ${rule}`));
        const due = traceIds.flatMap((traceId) => [FREE, CAPPED].map(({ rule }) => `${traceId} ${rule}`));
        return due.filter((name) => !decided.has(name));
      };
      await until(
        async () => (await findOpen()).length === 0,
        DECIDED_WITHIN_MS,
        () => fleet.describe(),
      );
      const decidedMs = performance.now();
      await sleep(QUIET_MS);

      const { decisions, scores } = await fleet.readRows();
      const count = ({ scorer }: { scorer: string }) => scores.filter((row) => row.scorer === scorer).length;
      const calls = fleet.listCalls(FREE).length + fleet.listCalls(CAPPED).length;
      const spentUsd = fleet.listCalls(CAPPED).length * CALL_USD;
      reportFigures('fleet under kills', {
        seconds: LOAD_MS / 1_000,
        kills: fleet.kills,
        traces: traceIds.length,
        decidedAfterS: Math.round((decidedMs - loadedMs) / 1_000),
        scores: { [FREE.scorer]: count(FREE), [CAPPED.scorer]: count(CAPPED) },
        callsPerScore: calls / (count(FREE) + count(CAPPED)),
        repeats: { free: fleet.countRepeats(FREE), capped: fleet.countRepeats(CAPPED) },
        spentOfCap: spentUsd / CAP_USD,
        heldBack: decisions.filter(({ status }) => status === 'deferred').length,
      });
      expect(await findOpen()).toEqual([]);
      expect(scores.filter(({ rows }) => rows !== 1)).toEqual([]);
      expect(count(FREE)).toBe(traceIds.length);
      expect(calls).toBeLessThanOrEqual(MOST_CALLS_PER_SCORE * (count(FREE) + count(CAPPED)));
      expect(spentUsd).toBeLessThanOrEqual(CAP_USD);
      expect(spentUsd).toBeGreaterThan(CAP_USD / 2);
      expect(decisions.some(({ status }) => status === 'deferred')).toBe(true);
      expect([fleet.home, ...fleet.scorers].flatMap(({ endedAlone }) => endedAlone)).toEqual([]);
      expect(await fleet.stop()).toEqual([0, 0, 0, 0, 0]);
    } finally {
      await fleet.dispose();
    }
  },
);
