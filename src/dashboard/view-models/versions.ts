import type { Rate, Versions } from '../api-types.ts';
import { formatDuration, formatNumber, UNKNOWN } from './format.ts';
import { formatInterval } from './rates.ts';

/** Line of two versions side by side, as texts. */
export interface VersionLine {
  readonly name: string;
  /** True for a quality: it has a page. */
  readonly isScorer: boolean;
  readonly left: string;
  readonly right: string;
  readonly verdict: Versions['items'][number]['verdict'];
  readonly evidenceLog10: number | null;
}

/** Lists two versions side by side: each quality, then tokens and time. */
export function listVersionLines({ left, right, items }: Versions): VersionLine[] {
  const measured = { isScorer: false, verdict: 'not_shown', evidenceLog10: null } as const;
  return [
    ...sortQualities(items).map((item) => ({
      name: item.scorer,
      isScorer: true,
      left: formatRate(item.left, left.runs),
      right: formatRate(item.right, right.runs),
      verdict: item.verdict,
      evidenceLog10: item.evidenceLog10,
    })),
    { ...measured, name: 'Tokens a run', left: formatNumber(left.tokens), right: formatNumber(right.tokens) },
    {
      ...measured,
      name: 'Time, median',
      left: formatDuration(left.p50Ms),
      right: formatDuration(right.p50Ms),
    },
  ];
}

type Quality = Versions['items'][number];

/** Sorts qualities: what changed comes first, the surest first. */
export function sortQualities(items: readonly Quality[]): Quality[] {
  const isShown = ({ verdict }: Quality) => Number(verdict !== 'not_shown');
  return items.toSorted((a, b) => isShown(b) - isShown(a) || (b.evidenceLog10 ?? 0) - (a.evidenceLog10 ?? 0));
}

/** Writes a rate with its 95 % interval, and with its number of runs where that is not the one of the version. */
function formatRate(rate: Rate | null, runs: number): string {
  return rate === null || rate.n === runs
    ? formatInterval(rate)
    : `${formatInterval(rate)} (${formatNumber(rate.n)})`;
}

/** Evidence from which it is written as a power of ten. */
const POWER_FROM = 2;

/** Odds of evidence in words; a large one as a power of ten, whose exponent stands apart. */
export function readEvidence(log10: number | null): { readonly text: string; readonly power: string } {
  if (log10 === null || !Number.isFinite(log10)) {
    return { text: UNKNOWN, power: '' };
  }
  return log10 >= POWER_FROM
    ? { text: '10', power: String(Number(log10.toFixed(0))) }
    : { text: `${Number((10 ** log10).toPrecision(2))} to 1`, power: '' };
}

interface Seen {
  readonly version: string;
  readonly firstSeen: string | null;
}

/** Sorts versions, the newest first. */
export function newestFirst<Version extends Seen>(versions: readonly Version[]): Version[] {
  return versions.toSorted((a, b) => (b.firstSeen ?? '').localeCompare(a.firstSeen ?? ''));
}

/** Two versions to compare at first: the newest one, and the one before it. */
export function chooseVersions(
  versions: readonly Seen[],
  asked: { readonly left: string | null; readonly right: string | null } = { left: null, right: null },
): { readonly left: string; readonly right: string } | undefined {
  const newest = newestFirst(versions).map(({ version }) => version);
  const right = asked.right ?? newest.find((version) => version !== asked.left);
  const left =
    asked.left ??
    newest.slice(newest.indexOf(right ?? '') + 1)[0] ??
    newest.findLast((version) => version !== right);
  return left === undefined || right === undefined ? undefined : { left, right };
}
