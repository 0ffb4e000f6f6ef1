import type { Replies } from '../api-types.ts';
import { useRead } from '../resource.ts';
import { adjustQuery, query } from '../router.ts';
import { formatInterval } from '../view-models/comparison.ts';
import { describeCertificate, formatChecked } from '../view-models/rates.ts';
import { formatNumber, formatPercent } from '../view-models/format.ts';
import { Choice } from './choice.tsx';
import { Loaded } from './loaded.tsx';
import { Table, type Column } from './table.tsx';
import { Text } from './text.tsx';
import { fillPath } from '../view-models/paths/fill-path.ts';

type AgreementReply = Replies['/labels/agreement'];

type Version = AgreementReply['versions'][number];

type Reviewers = AgreementReply['reviewers'][number];

const FINGERPRINT_DIGITS = 8;

type Bounded<Name extends string> = Readonly<Record<Name | `${Name}Low` | `${Name}High`, number | null>>;

/** Column of a number with its interval. */
function interval<Name extends string>(name: string, key: Name): Column<Bounded<Name>> {
  const cell = (row: Bounded<Name>) => formatInterval(row[key], row[`${key}Low`], row[`${key}High`]);
  return { name, cell, isNumber: true };
}

const VERSIONS: readonly Column<Version>[] = [
  { name: 'Scorer', cell: ({ scorer }) => <Text of={scorer} /> },
  {
    name: 'Version',
    cell: ({ fingerprint }) => <code title={fingerprint}>{fingerprint.slice(0, FINGERPRINT_DIGITS)}</code>,
  },
  { name: 'Judge', cell: ({ judgeModel }) => <Text of={judgeModel || 'no judge'} /> },
  { name: 'Targets', isNumber: true, cell: ({ n }) => formatNumber(n) },
  interval('Kappa', 'kappa'),
  interval('Sensitivity', 'sensitivity'),
  interval('Specificity', 'specificity'),
  { name: 'Pass rate', isNumber: true, cell: ({ passRate }) => formatPercent(passRate) },
  { name: 'Checked by people', isNumber: true, cell: ({ estimate }) => formatChecked(estimate) },
  { name: 'Certificate', cell: ({ certificate }) => describeCertificate(certificate) },
];

const REVIEWERS: readonly Column<Reviewers>[] = [
  { name: 'Scorer', cell: ({ scorer }) => <Text of={scorer} /> },
  { name: 'Reviewer', cell: ({ left }) => <Text of={left} /> },
  { name: 'Other reviewer', cell: ({ right }) => <Text of={right} /> },
  { name: 'Targets', isNumber: true, cell: ({ n }) => formatNumber(n) },
  interval('Kappa', 'kappa'),
];

/** Agreement of a scorer with the labels of people, and of people with each other. */
export function Agreement({ since }: { readonly since: string | undefined }) {
  const scorers = useRead('/scorers');
  return (
    <section aria-labelledby="agreement">
      <h2 id="agreement">Agreement with people</h2>
      <Loaded of={scorers} what="the scorers" empty={<p>No scorers.</p>}>
        {({ items }) => {
          const names = items.map(({ scorer }) => scorer);
          const scorer =
            query.value.get('scorer') ?? items.find(({ kind }) => kind === 'judge')?.scorer ?? names[0];
          return (
            scorer !== undefined && (
              <>
                <Choice
                  label="Scorer"
                  value={scorer}
                  choices={names}
                  onChoice={(name) => adjustQuery({ scorer: name })}
                />
                <AgreementTables scorer={scorer} since={since} />
              </>
            )
          );
        }}
      </Loaded>
    </section>
  );
}

function AgreementTables({ scorer, since }: { readonly scorer: string; readonly since: string | undefined }) {
  const agreement = useRead('/labels/agreement', { query: { scorer, since } });
  return (
    <Loaded
      of={agreement}
      what="the agreement"
      isEmpty={({ versions }) => versions.length === 0}
      empty={
        <p>
          No answer of this time has both a score and a label yet.{' '}
          <a href={fillPath('/review', {}, { scorer })}>Label some answers</a>.
        </p>
      }
    >
      {({ versions, reviewers }) => (
        <>
          <Table
            caption="Versions of the scorer, compared with people"
            columns={VERSIONS}
            rows={versions}
            keyOf={({ scorer: row, fingerprint }) => JSON.stringify([row, fingerprint])}
          />
          {reviewers.length > 0 && (
            <Table
              caption="Reviewers, compared with each other"
              columns={REVIEWERS}
              rows={reviewers}
              keyOf={({ scorer: row, left, right }) => JSON.stringify([row, left, right])}
            />
          )}
          <p class="note">
            In brackets: 95 % intervals. Sensitivity is the share of the good answers that the scorer lets
            pass, specificity the share of the bad ones that it lets fail.
          </p>
        </>
      )}
    </Loaded>
  );
}
