import type { Item, Replies } from '../api-types.ts';
import { read } from '../client.ts';
import { useResource } from '../resource.ts';
import { framed } from '../router.ts';
import type { EstimateGroup } from '../../domain/agreement/pass-rate.ts';
import { formatNumber } from '../view-models/format.ts';
import { describeCertificate, formatChecked } from '../view-models/rates.ts';
import { Text } from './text.tsx';

/** Pass rate of the last 30 days that labels of people correct. */
export type Estimate = Item<'/labels/estimate'>;

/** Reads the pass rates of scorers that people have checked, of the version of each that was used last; none while they load. */
export function useEstimates(scorers: readonly string[], by?: EstimateGroup): readonly Estimate[] {
  const replies = useResource(`estimates ${JSON.stringify([scorers, by])}`, (signal) =>
    Promise.all(
      scorers
        .filter((scorer) => scorer !== '')
        .map((scorer) => read('/labels/estimate', { query: { scorer, by }, signal })),
    ),
  );
  return replies.kind === 'ready' ? replies.data.flatMap(listNewest) : [];
}

/** Lists the estimates of the version that was used last: the first of each name of rows. */
function listNewest({ items }: Replies['/labels/estimate']): Estimate[] {
  const newest = new Map(items.toReversed().map(({ scorer, fingerprint }) => [scorer, fingerprint]));
  return items.filter(({ scorer, fingerprint }) => newest.get(scorer) === fingerprint);
}

interface CheckedProps {
  readonly scorer: string;
  /** Agent of the pass rate; '' for all. */
  readonly agent?: string | undefined;
  /** False on the page of the labels itself. */
  readonly isLinked?: boolean;
}

/** Pass rate of a scorer by people, with the certificate of its judge, and what more labels would do. */
export function Checked({ scorer, agent = '', isLinked = true }: CheckedProps) {
  const estimates = useEstimates([scorer], agent === '' ? undefined : 'agent');
  const found = estimates.find((each) => each.scorer === scorer && (agent === '' || each.series === agent));
  const toHalve = found?.moreLabels.toHalve ?? null;
  return found === undefined ? null : (
    <p class="note">
      Pass rate of <Text of={agent === '' ? scorer : `${scorer}, ${agent}`} /> in 30 days:{' '}
      <b>{formatChecked(found)}</b>
      {found.labels > 0 && ` · ${describeCertificate(found.certificate)}`}
      {toHalve !== null && ` · ${formatNumber(toHalve)} more labels would halve the interval`}.{' '}
      {isLinked && <a href={framed('/review', { scorer })}>Label some answers</a>}
    </p>
  );
}
