import type { SeatedAttempt } from '../judge/batch/batch-seat.ts';
import type { BatchRequest } from '../store/contracts/judge-batches.ts';

/** Money for batches. */
export interface BatchMoney {
  /** Reads how much a rule and a tenant may still spend, USD. */
  readRest(payer: Pick<SeatedAttempt, 'rule' | 'tenant'>): Promise<number>;
}

export interface PayableTerms {
  /** Questions whose expected cost no reader of budgets sees yet. */
  readonly unbooked: readonly BatchRequest[];
  /** Money that the job has left, USD. */
  readonly jobRestUsd: number;
  readonly money: BatchMoney;
}

export interface PayableRequests {
  readonly payable: BatchRequest[];
  /** Questions without money; `isOfJob` when it is the job that has none. */
  readonly refused: { readonly request: BatchRequest; readonly isOfJob: boolean }[];
}

/** Chooses the questions for which the job, the rule and the tenant have money, in their order. */
export async function choosePayable(
  requests: readonly BatchRequest[],
  { unbooked, jobRestUsd, money }: PayableTerms,
): Promise<PayableRequests> {
  const chosen: PayableRequests = { payable: [], refused: [] };
  let jobRest = jobRestUsd;
  for (const [payer, asked] of Map.groupBy(requests, nameOfPayer)) {
    const open = unbooked.filter((each) => nameOfPayer(each) === payer);
    const openUsd = open.reduce((sum, { estimatedUsd }) => sum + (estimatedUsd ?? 0), 0);
    let rest = (await money.readRest(asked[0] ?? { rule: '', tenant: '' })) - openUsd;
    for (const request of asked) {
      const usd = request.estimatedUsd ?? 0;
      if (usd > rest || usd > jobRest) {
        chosen.refused.push({ request, isOfJob: usd > jobRest });
      } else {
        [rest, jobRest] = [rest - usd, jobRest - usd];
        chosen.payable.push(request);
      }
    }
  }
  return chosen;
}

function nameOfPayer({ rule, tenant }: BatchRequest): string {
  return JSON.stringify([rule, tenant]);
}
