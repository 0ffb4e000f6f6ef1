import { formatDirection, formatScore } from '../view-models/format.ts';
import { Text } from './text.tsx';

interface ScoreProps {
  readonly score: number;
  readonly higherIsBetter: boolean | null;
  readonly label?: string;
  /** Source of a score that no scorer of spanscore has made: `human` or `api`. */
  readonly source?: string;
}

const MAKERS: Readonly<Record<string, string>> = { human: 'by a person', api: 'sent by another program' };

/** A score with its direction, which a screen reader hears in words. */
export function Score({ score, higherIsBetter, label = '', source = '' }: ScoreProps) {
  const maker = MAKERS[source];
  return (
    <span class="score">
      <b>{formatScore(score)}</b>{' '}
      <abbr title={formatDirection(higherIsBetter)}>
        <span aria-hidden="true">{higherIsBetter === null ? '?' : higherIsBetter ? '↑' : '↓'}</span>
        <span class="unseen">{formatDirection(higherIsBetter)}</span>
      </abbr>
      {label !== '' && (
        <span class="small quiet">
          {' '}
          <Text of={label} />
        </span>
      )}
      {maker !== undefined && <span class="small quiet"> {maker}</span>}
    </span>
  );
}
