import type { AgentQuality, Item, Rate } from '../api-types.ts';
import { formatNumber, formatPercent, formatScore, UNKNOWN } from './format.ts';

/** Change that is written as none, as a share. */
const LEAST_CHANGE = 0.005;

/** Change of a rate from which its cell is tinted strongly, as a share. */
const LARGE_CHANGE = 0.1;

/** Writes a rate with its 95 % interval: `84 % [79, 88]`. */
export function formatInterval(rate: Rate | null): string {
  if (rate === null) {
    return UNKNOWN;
  }
  const [low, high] = [rate.low, rate.high].map((bound) => String(Math.round(100 * bound)));
  return `${formatPercent(rate.value)} [${low}, ${high}]`;
}

/** Writes a pass rate that labels of people correct: `86 % [82, 90], 120 labels`. */
export function formatChecked(of: Checked | null | undefined): string {
  const { estimate, low, high, labels } = of ?? NOT_CHECKED;
  return estimate === null || low === null || high === null
    ? 'not checked by people'
    : `${formatInterval({ value: estimate, low, high, n: labels })}, ${formatNumber(labels)} ${labels === 1 ? 'label' : 'labels'}`;
}

type Checked = Pick<Item<'/labels/estimate'>, 'estimate' | 'low' | 'high' | 'labels'>;

const NOT_CHECKED: Checked = { estimate: null, low: null, high: null, labels: 0 };

/** Writes the certificate of a judge with the bounds that it stands on. */
export function describeCertificate({
  state,
  sensitivityLow,
  specificityLow,
}: Item<'/labels/estimate'>['certificate']): string {
  const bounds =
    sensitivityLow === null || specificityLow === null
      ? ''
      : ` (lets at least ${formatPercent(sensitivityLow)} of the good pass, fails ${formatPercent(specificityLow)} of the bad)`;
  return `${state === 'certified' ? '✓ ' : ''}${state}${bounds}`;
}

/** Tone of a change: only one that chance does not explain is coloured. */
export type ChangeTone = 'worst' | 'worse' | 'better' | 'none';

/** Change of a quality, for people. */
export interface ShownChange {
  readonly tone: ChangeTone;
  /** `▼ 29 pts`; '' without a time before. */
  readonly text: string;
  /** The same in words, for readers who hear it. */
  readonly words: string;
}

/** Writes the change of a quality in points. */
export function describePoints({ change, significant, before }: AgentQuality): ShownChange {
  if (change === null) {
    return { tone: 'none', text: '', words: 'nothing to compare with' };
  }
  const against = `against ${formatPercent(before?.value ?? 0)} before`;
  if (Math.abs(change) < LEAST_CHANGE) {
    return { tone: 'none', text: '=', words: `as before, ${against}` };
  }
  const points = Math.max(Math.round(Math.abs(change) * 100), 1);
  const isWorse = change < 0;
  const tone = !significant ? 'none' : isWorse ? (change <= -LARGE_CHANGE ? 'worst' : 'worse') : 'better';
  return {
    tone,
    text: `${isWorse ? '▼' : '▲'} ${points} ${points === 1 ? 'pt' : 'pts'}`,
    words: `${isWorse ? 'worse' : 'better'}, ${against}${significant ? '' : ', within chance'}`,
  };
}

/** Writes the change of the median of a measure; '' without a time before. */
export function describeMedians({ median, medianBefore }: AgentQuality): string {
  if (median === null || medianBefore === null) {
    return '';
  }
  const change = median - medianBefore;
  const size = formatScore(Math.abs(change));
  return size === '0' ? '= median' : `${change > 0 ? '+' : '−'}${size} median`;
}

type PassLine = Item<'/scorers'>['passLines'][number];
type Scale = Pick<Item<'/scorers'>, 'scoreMin' | 'scoreMax' | 'higherIsBetter'>;

/** Digits of a line from which scores pass. */
const LINE_DIGITS = 6;

/** Part of the range from which a line lies beyond its limit, which then does not pass. */
const BEYOND = 1e-9;

/** Says which scores pass; '' where nothing is known of the range. */
export function describePassLine({ line, isDeclared }: PassLine, scale: Scale): string {
  const { scoreMin: low, scoreMax: high, higherIsBetter } = scale;
  if (low === null || high === null || higherIsBetter === null) {
    return '';
  }
  if (!isDeclared) {
    return 'no labels and no bar say what passes: the better half of the range does';
  }
  const score = higherIsBetter ? low + line * (high - low) : high - line * (high - low);
  const limit = Number(score.toFixed(LINE_DIGITS));
  const isBeyond = Math.abs(limit - score) > BEYOND * (high - low);
  const words = higherIsBetter ? (isBeyond ? 'above' : 'from') : isBeyond ? 'below' : 'up to';
  return `${words} ${formatScore(limit)} it passes`;
}

/** Two-sided 95 % quantile of the normal distribution. */
const Z = 1.96;

/** Builds a rate with the interval of Wilson, 95 %. */
export function wilson(value: number, n: number): Rate {
  const [centre, scale] = [value + Z ** 2 / (2 * n), 1 + Z ** 2 / n];
  const half = Z * Math.sqrt((value * (1 - value)) / n + Z ** 2 / (4 * n ** 2));
  return {
    value,
    low: Math.max(0, (centre - half) / scale),
    high: Math.min(1, (centre + half) / scale),
    n,
  };
}
