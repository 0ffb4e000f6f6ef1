/** Shown instead of a value that is not known. */
export const UNKNOWN = '–';

const COUNTS = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** Digits after the point of a score. */
const SCORE_DIGITS = 3;

/** Writes a number of things: `5,130`. */
export function formatNumber(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : COUNTS.format(value);
}

/** Writes a score with up to three digits after the point: `0.25`, `1`. */
export function formatScore(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value)
    ? UNKNOWN
    : String(Number(value.toFixed(SCORE_DIGITS)));
}

/** Writes a part of a whole: `8 %`, `0.4 %`. */
export function formatPercent(part: number | null | undefined, whole = 1): string {
  if (part === null || part === undefined || whole === 0) {
    return UNKNOWN;
  }
  const percent = (100 * part) / whole;
  return `${percent > 0 && percent < 1 ? percent.toFixed(1) : COUNTS.format(percent)} %`;
}

/** Writes a sum of money: `$0.0021`, `$12.40`. */
export function formatUsd(value: number | null | undefined): string {
  if (value === null || value === undefined) {
    return UNKNOWN;
  }
  return `$${value !== 0 && Math.abs(value) < 1 ? String(Number(value.toPrecision(2))) : value.toFixed(2)}`;
}

/** Writes a length of time with its unit: `5 ms`, `1.8 s`, `4 min`, `3 h`, `2 d`. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) {
    return UNKNOWN;
  }
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ] as const;
  const unit = units.find(([size]) => ms >= size);
  return unit === undefined ? `${short(ms)} ms` : `${short(ms / unit[0])} ${unit[1]}`;
}

function short(value: number): string {
  return String(Number(value.toFixed(value < 10 ? 1 : 0)));
}

/** Writes a time in UTC: `2026-11-21 07:05:18`. */
export function formatTime(iso: string | null | undefined): string {
  return iso === null || iso === undefined ? UNKNOWN : iso.slice(0, 19).replace('T', ' ');
}

const MINUTES = {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
} as const;

/** Writes a time where the reader is: `21 Nov, 08:05`, with its year when that is not the present one. */
export function formatLocalTime(iso: string, timeZone?: string): string {
  const at = new Date(iso);
  const isOld = at.getUTCFullYear() !== new Date().getUTCFullYear();
  return at.toLocaleString('en-GB', {
    ...MINUTES,
    ...(isOld ? { year: 'numeric' } : {}),
    ...(timeZone === undefined ? {} : { timeZone }),
  });
}

/** Writes the direction of a score. */
export function formatDirection(isHigherBetter: boolean | null | undefined): string {
  if (isHigherBetter === null || isHigherBetter === undefined) {
    return 'direction not known';
  }
  return isHigherBetter ? '↑ higher is better' : '↓ lower is better';
}

/** Writes a number of bytes: `512 B`, `1.4 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return `${short(bytes / 1024 ** power)} ${units[power] ?? ''}`;
}
