import { read } from '../client.ts';
import { Filters } from '../parts/filters.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { query } from '../router.ts';
import { describeComparison, type Comparison } from '../view-models/comparison.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { formatNumber } from '../view-models/format.ts';
import { RANGES, readFilters, type FilterField } from '../view-models/query-filters.ts';

const FIELDS: readonly FilterField[] = [
  { name: 'left', label: 'Left', placeholder: 'hallucination' },
  { name: 'right', label: 'Right', placeholder: 'human:correctness' },
  { name: 'since', label: 'Since', choices: RANGES },
  { name: 'agent', label: 'Agent' },
  { name: 'environment', label: 'Environment' },
];

/** Agreement of two scorers, two versions of a scorer, or a scorer and people. */
export function Compare() {
  const filters = readFilters(FIELDS, query.value);
  const [left, right] = [filters['left']?.[0], filters['right']?.[0]];
  return (
    <Page
      title="Compare"
      lead="Agreement of two sides: a scorer, one version of it (scorer@fingerprint), or labels of people (human:scorer)."
    >
      <Filters name="Choose both sides" fields={FIELDS} />
      {left === undefined || right === undefined ? (
        <p>Name both sides. The names of scorers are on the page of the rules.</p>
      ) : (
        <Result filters={{ ...filters, left, right, since: filters['since']?.[0] }} />
      )}
    </Page>
  );
}

function Result({
  filters,
}: {
  readonly filters: { readonly left: string; readonly right: string; readonly since: string | undefined };
}) {
  const comparison = useResource(`compare ${JSON.stringify(filters)}`, (signal) =>
    read('/compare', { query: { ...filters }, signal }),
  );
  return (
    <Loaded of={comparison} what="the comparison">
      {(data) => (
        <>
          <p role="status">
            <Text of={describeComparison(data)} />
          </p>
          <Confusion comparison={data} />
          <section aria-labelledby="disagreements">
            <h2 id="disagreements">Traces on which the sides disagree</h2>
            {data.disagreements.length === 0 ? (
              <p>None.</p>
            ) : (
              <ul class="trace-links">
                {data.disagreements.map((traceId) => (
                  <li key={traceId}>
                    <a href={fillPath('/traces/:traceId', { traceId }, { tab: 'findings' })} data-row-link>
                      <code>{traceId}</code>
                    </a>
                  </li>
                ))}
              </ul>
            )}
          </section>
          <p class="note">
            Scores from <Time at={data.since} /> to <Time at={data.until} /> (UTC). A score passes when it is
            not in the worst label of its scorer; without labels, from the bar of the scorer on, else in the
            better half of its range.
          </p>
        </>
      )}
    </Loaded>
  );
}

function Confusion({ comparison: { left, right, confusion } }: { readonly comparison: Comparison }) {
  return (
    <div class="scroll">
      <table>
        <caption>Targets by the answers of both sides</caption>
        <thead>
          <tr>
            <td />
            <th scope="col">
              <Text of={right} /> passes
            </th>
            <th scope="col">
              <Text of={right} /> fails
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">
              <Text of={left} /> passes
            </th>
            <td class="number">✓ {formatNumber(confusion.bothPass)}</td>
            <td class="number">≠ {formatNumber(confusion.leftPasses)}</td>
          </tr>
          <tr>
            <th scope="row">
              <Text of={left} /> fails
            </th>
            <td class="number">≠ {formatNumber(confusion.rightPasses)}</td>
            <td class="number">✓ {formatNumber(confusion.bothFail)}</td>
          </tr>
        </tbody>
      </table>
    </div>
  );
}
