import { paysFor, type ScopeRest } from '../domain/money/budget.ts';
import { ROUNDING_USD } from '../domain/money/usd.ts';
import type { BatchRequestRow } from '../store/contracts/judge-batches.ts';

export interface PayableTerms {
  /** Questions whose expected cost is not in `rests`. */
  readonly unbooked: readonly BatchRequestRow[];
  /** Money that the job has left, USD. */
  readonly jobRestUsd: number;
  /** Money that the budgets of the questions have left. */
  readonly rests: readonly ScopeRest[];
}

export interface PayableRequests<Request> {
  readonly payable: Request[];
  /** Questions without money; `isOfJob` when it is the job that has none. */
  readonly refused: { readonly request: Request; readonly isOfJob: boolean }[];
}

/** Chooses the questions for which the job and each of their budgets have money, in their order. */
export function choosePayable<Request extends BatchRequestRow>(
  requests: readonly Request[],
  { unbooked, jobRestUsd, rests }: PayableTerms,
): PayableRequests<Request> {
  const chosen: PayableRequests<Request> = { payable: [], refused: [] };
  const purses = rests.map(({ scope, restUsd }) => ({ scope, restUsd }));
  const take = (request: BatchRequestRow) =>
    purses
      .filter(({ scope }) => paysFor(scope, request))
      .forEach((purse) => (purse.restUsd -= request.estimatedUsd ?? 0));
  unbooked.forEach(take);
  let jobRest = jobRestUsd;
  for (const request of requests) {
    const usd = request.estimatedUsd ?? 0;
    const fits = (restUsd: number) => usd === 0 || usd <= restUsd + ROUNDING_USD;
    const isPaid = purses.every(({ scope, restUsd }) => !paysFor(scope, request) || fits(restUsd));
    if (isPaid && fits(jobRest)) {
      take(request);
      jobRest -= usd;
      chosen.payable.push(request);
    } else {
      chosen.refused.push({ request, isOfJob: !fits(jobRest) });
    }
  }
  return chosen;
}
