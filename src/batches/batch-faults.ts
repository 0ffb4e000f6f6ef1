import { hostname } from 'node:os';
import { AppError, readErrorMessage } from '../domain/errors.ts';
import { formatCount } from '../domain/plural.ts';
import type { JudgeError } from '../judge/judge-error.ts';

/** Statuses with which a provider refuses a batch for good. */
const REFUSALS: ReadonlySet<unknown> = new Set([400, 404, 413, 422]);

/** Returns true for the error of a provider that would refuse the same batch again. */
export function isRefusal(error: unknown): boolean {
  return REFUSALS.has(readStatus(error));
}

/** Describes the error of a batch that was refused. */
export function describeRefusal(error: unknown, provider: string): string {
  const cause =
    readStatus(error) === 404 ? `: there is no Batch API at judges.providers.${provider}.baseURL` : '';
  return `${readErrorMessage(error)}${cause}`;
}

/** Numbers of questions of a batch that has ended. */
export interface BatchEnd {
  /** Status of the batch at its end; `refused` and `gone` for one that the provider does not have. */
  readonly ending: string;
  /** Failure of the whole batch; '' without one. */
  readonly failure: string;
  readonly all: number;
  /** Questions without a usable reply. */
  readonly missing: number;
  /** Number of them that the provider answered with an overload. */
  readonly overloads: number;
}

/** Describes why questions have no reply, and says what to do; '' when all have one. */
export function describeEnd({ ending, failure, all, missing, overloads }: BatchEnd): string {
  if (missing === 0) {
    return '';
  }
  const again = 'the questions go into another batch';
  return [
    ...(ending === 'refused' || ending === 'gone' ? [] : [`the batch ended as ${ending}`]),
    `${missing} of ${formatCount(all, 'question')} have no reply`,
    ...(overloads === 0 ? [] : [`the provider was overloaded for ${overloads}`]),
    ...(failure === '' ? [] : [failure]),
    ending === 'cancelled'
      ? again
      : `${again}, up to three in all; if that fails, too: cancel the backfill, and start it without --batch`,
  ].join('; ');
}

/** Describes an error that may pass, and says what to do if it stays. */
export function describeWait(error: JudgeError, provider: string): string {
  if (error.code === 'judge_misconfigured') {
    return error.message;
  }
  return `${error.message}; it is tried again; if it stays so, check ${listSuspects(readStatus(error), provider)}`;
}

/** Describes a batch whose provider is not known to the process that should send it. */
export function describeUnknownProvider(provider: string): string {
  return `process ${process.pid} on ${hostname()} sends the batches of all processes, and its configuration has no batches for the provider "${provider}": set judges.providers.${provider}.batch there, and restart it`;
}

function listSuspects(status: unknown, provider: string): string {
  switch (status) {
    case 401:
    case 403:
      return `judges.providers.${provider}.apiKey, and the rights of this key to files and batches`;
    case 429:
      return 'the limits and the bills of the account at the provider';
    default:
      return `judges.providers.${provider}.baseURL, and the state of the provider`;
  }
}

function readStatus(error: unknown): unknown {
  return error instanceof AppError ? error.details['status'] : undefined;
}
