import type { AgentItem, Incident } from '../api-types.ts';
import { formatNumber } from './format.ts';
import { describeValues, joinIncidents, type AlertEvent } from './incidents.ts';
import { chooseVersions } from './versions.ts';

/** Open alerts: the worst change of scores first, then what fires about money. */
export interface OpenAlerts {
  /** Worst open change: of those that nobody has muted, else of the muted ones. */
  readonly worst: AlertEvent | undefined;
  readonly others: readonly AlertEvent[];
  readonly budgets: readonly AlertEvent[];
}

/** No open alerts. */
export const NONE_OPEN: OpenAlerts = { worst: undefined, others: [], budgets: [] };

/** Lists what is open. The strongest evidence is the worst; without evidence, the newest. */
export function listOpen(events: readonly AlertEvent[]): OpenAlerts {
  const open = joinIncidents(events).flatMap(({ event, isOpen }) => (isOpen ? [event] : []));
  const [worst, ...others] = open
    .filter(({ budget }) => budget === undefined)
    .toSorted(
      (a, b) =>
        Number(a.muted) - Number(b.muted) ||
        (b.evidenceLog10 ?? 0) - (a.evidenceLog10 ?? 0) ||
        (b.startsAt ?? '').localeCompare(a.startsAt ?? ''),
    );
  return { worst, others, budgets: open.filter(({ budget }) => budget !== undefined) };
}

/** Names the agent of an incident. */
export function agentOf({ series }: AlertEvent): string {
  return series.agent === '' ? 'all agents' : series.agent;
}

/** Version that an incident is about: its own, else the one that its change comes from. */
export function versionOf({ agentVersion, serviceVersion, cause }: AlertEvent): string {
  const named = cause?.segments.flatMap(({ segment }) => [
    segment['agentVersion'] ?? segment['serviceVersion'] ?? '',
  ]);
  return agentVersion || serviceVersion || (named?.find((version) => version !== '') ?? '');
}

/** Writes what was measured, on how many scores, and how sure it is. */
export function describeMeasure(event: AlertEvent): string {
  const { series, count, evidenceLog10 } = event;
  const evidence =
    evidenceLog10 === null || evidenceLog10 < 1 ? '' : `, evidence ${writePower(evidenceLog10)}`;
  return `${series.scorer} ${describeValues(event)} (n = ${formatNumber(count)}${evidence})`;
}

/** Writes a power of ten: `10⁵³`. */
function writePower(log10: number): string {
  return `10${String(Math.round(log10)).replaceAll(/\d/gu, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)] ?? digit)}`;
}

/** Two versions to compare for an incident: those of its detail, else the two newest of its agent. */
export function versionsOf(
  incident: Incident | undefined,
  agent: AgentItem | undefined,
): { readonly left: string; readonly right: string } | undefined {
  if (incident?.versions) {
    return { left: incident.versions.left.version, right: incident.versions.right.version };
  }
  return chooseVersions(agent?.versions ?? []);
}

/** Qualities that got worse by more than chance, the greatest loss first. */
export function listWorse(agents: readonly AgentItem[]) {
  return agents
    .flatMap(({ agent, qualities }) => qualities.map((quality) => ({ agent, quality })))
    .filter(({ quality: { change, significant } }) => significant && change !== null && change < 0)
    .toSorted((a, b) => (a.quality.change ?? 0) - (b.quality.change ?? 0));
}

/** Detectors that watch scores: what they find is that answers got worse. */
const OF_SCORES: readonly string[] = ['drift', 'distribution', 'cusum', 'floor', 'threshold', 'rate'];

/** Returns true for an incident about the answers themselves, not about the scoring of them. */
export function isQuality({ detector }: AlertEvent): boolean {
  return OF_SCORES.includes(detector);
}
