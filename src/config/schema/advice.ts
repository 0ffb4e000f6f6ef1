import { DURATION_PATTERN, parseDurationMs } from '../duration.ts';
import { tryParseEndpoint } from '../addresses/endpoint.ts';
import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';

/** Messages for values of the wrong form: the right form, and the value that was probably meant. */

const UNITS: readonly [ms: number, unit: string, names: RegExp][] = [
  [DAY_MS, 'd', /^d(ays?)?$/],
  [HOUR_MS, 'h', /^h((ou)?rs?)?$/],
  [60_000, 'm', /^m(in(ute)?s?)?$/],
  [1000, 's', /^s(ec(ond)?s?)?$/],
  [1, 'ms', /^(ms|msecs?|milli(second)?s?)$/],
  [7 * DAY_MS, 'd', /^w(eeks?)?$/],
];

const DURATION_FORM = 'a whole number and a unit, like 500ms, 5s, 15m, 24h or 30d';

/** Units that are proposed for a number without one; the first that the field takes. */
const PROPOSED_UNITS = ['s', 'm', 'h', 'd'];

/**
 * Returns advice for a value that is no duration. Understands `5 s`, `1.5h`, `1h30m`, `PT5S` and `2 weeks`.
 * @param isTaken true for a duration that the field takes, in milliseconds; nothing else is proposed
 */
export function durationAdvice(input: unknown, isTaken: (ms: number) => boolean): string {
  const isProposed = (text: string) => isTaken(parseDurationMs(text) ?? Number.NaN);
  if (/^[1-9]\d*$/.test(String(input).trim())) {
    const [first, second] = PROPOSED_UNITS.map((unit) => `${Number(input)}${unit}`).filter(isProposed);
    const meant = second === undefined ? first : `${first} or ${second}`;
    return meant === undefined ? `write ${DURATION_FORM}` : `needs a unit: write ${meant} (${DURATION_FORM})`;
  }
  const meant = typeof input === 'string' ? guessDuration(input) : undefined;
  return meant === undefined || !isProposed(meant)
    ? `write ${DURATION_FORM}`
    : `write ${meant} (${DURATION_FORM})`;
}

function guessDuration(text: string): string | undefined {
  const bare = text
    .trim()
    .toLowerCase()
    .replace(/^pt?(?=\d)/, '');
  const parts = [...bare.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)\s*/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== bare) {
    return undefined;
  }
  let ms = 0;
  for (const [, amount, name = ''] of parts) {
    const unit = UNITS.find(([, , names]) => names.test(name));
    if (unit === undefined) {
      return undefined;
    }
    ms += Number(amount) * unit[0];
  }
  const [length, unit] = UNITS.find(([size]) => ms > 0 && ms % size === 0) ?? [1, 'ms'];
  const meant = `${ms / length}${unit}`;
  return DURATION_PATTERN.test(meant) ? meant : undefined;
}

const ENDPOINT_FORM = 'host:port, like 127.0.0.1:4318; port 0 takes any free port';

/** Returns advice for a value that is no `host:port`: a port alone, a URL, an IPv6 address without brackets. */
export function endpointAdvice(input: unknown): string {
  const text = String(input).trim();
  const guesses = [
    `127.0.0.1:${text.replace(/^:/, '')}`,
    text.replace(/^[a-z]+:\/\//i, '').replace(/\/.*$/, ''),
    text.replace(/^([0-9a-f:]*:):?(\d+)$/i, (_, host: string, port) => `[${host.replace(/:$/, '')}]:${port}`),
  ];
  const isFormed = typeof input === 'string' || typeof input === 'number';
  const meant = isFormed ? guesses.find((guess) => tryParseEndpoint(guess) !== undefined) : undefined;
  return meant === undefined ? `write ${ENDPOINT_FORM}` : `write ${meant} (${ENDPOINT_FORM})`;
}

/** Returns advice for a value that is no http or https URL. */
export function urlAdvice(input: unknown): string {
  const form = 'a URL that begins with http:// or https://';
  const isHost =
    typeof input === 'string' && /^[\w.-]+(:\d+)?(\/\S*)?$/.test(input) && /[.:]|^localhost/.test(input);
  return isHost ? `write http://${input} (${form})` : `write ${form}`;
}

/** Returns advice for a value that is no `provider/model`. */
export function judgeAdvice(input: unknown): string {
  const form = 'provider/model, like openai/gpt-5-mini';
  const text = typeof input === 'string' ? input.trim() : '';
  const guess = /^(gpt-|o\d)/.test(text) ? `openai/${text}` : text.replace(/^([\w-]+)[:.](?=\S)/, '$1/');
  return /^[^/\s]+\/\S+$/.test(guess) ? `write ${guess} (${form})` : `write ${form}`;
}
