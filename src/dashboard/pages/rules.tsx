import { read } from '../client.ts';
import type { Item } from '../api-types.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { RulePreview } from '../parts/rule-preview.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { formatDirection, formatPercent, formatScore } from '../view-models/format.ts';
import { describeCounts } from '../view-models/overview-rows.ts';
import { ruleYaml, type Rule } from '../view-models/rule-yaml.ts';
import { visibleText } from '../view-models/visible-text.ts';

type Scorer = Item<'/scorers'>;

/** The rules in force and their scorers. The configuration stays in files: a rule can be copied as YAML. */
export function Rules() {
  const rules = useResource('rules', (signal) => read('/rules', { signal }));
  const scorers = useResource('scorers', (signal) => read('/scorers', { signal }));
  return (
    <Page
      title="Rules"
      lead="Which traces get which scorers. To change a rule, edit the configuration file and start spanscore again."
    >
      <Loaded
        of={rules}
        what="the rules"
        isEmpty={({ items }) => items.length === 0}
        empty={<p>No rules: no trace is scored.</p>}
      >
        {({ items }) => items.map((rule) => <RuleDetail key={rule.rule} rule={rule} />)}
      </Loaded>
      <Loaded
        of={scorers}
        what="the scorers"
        isEmpty={({ items }) => items.length === 0}
        empty={<p>No scorers.</p>}
      >
        {({ items }) => (
          <Table caption="Scorers" columns={SCORER_COLUMNS} rows={items} keyOf={({ scorer }) => scorer} />
        )}
      </Loaded>
    </Page>
  );
}

function RuleDetail({ rule }: { readonly rule: Rule }) {
  const yaml = ruleYaml(rule);
  const { scored, eligible, since } = rule.decisions;
  const title = `rule-${rule.rule}`;
  return (
    <section class="rule" aria-labelledby={title}>
      <h2 id={title}>
        <Text of={rule.rule} />
      </h2>
      <p>
        {rule.activeFrom === null ? (
          'No scorer process has loaded it yet.'
        ) : (
          <>
            In force since <Time at={rule.activeFrom} /> UTC.
          </>
        )}{' '}
        Scored {describeCounts(scored, eligible)} decisions since <Time at={since} /> UTC.
      </p>
      <pre tabIndex={0} role="group" aria-label={visibleText(`YAML of ${rule.rule}`)}>
        <code>
          <Text of={yaml} />
        </code>
      </pre>
      <CopyButton text={yaml} what={`the YAML of ${rule.rule}`} />
      <RulePreview rule={rule.rule} />
      <details>
        <summary>Versions ({rule.versions.length})</summary>
        <Table
          caption={`Versions of ${rule.rule}`}
          columns={VERSION_COLUMNS}
          rows={rule.versions}
          keyOf={({ version }) => version}
        />
      </details>
    </section>
  );
}

const VERSION_COLUMNS: readonly Column<Rule['versions'][number]>[] = [
  { name: 'Version', cell: ({ version }) => <Text of={version} /> },
  { name: 'In force since (UTC)', cell: ({ activeFrom }) => <Time at={activeFrom} /> },
  { name: 'Sample', cell: ({ rate }) => formatPercent(rate), isNumber: true },
];

/** Scale of a scorer that writes several rows. */
const EACH_ROW = 'each row has its own';

const SCORER_COLUMNS: readonly Column<Scorer>[] = [
  {
    name: 'Scorer',
    cell: ({ scorer, rows }) => (
      <>
        <a href={fillPath('/scores/:scorer', { scorer })} data-row-link>
          <Text of={scorer} />
        </a>
        {rows.length > 1 && (
          <>
            <br />
            <small>
              writes <Text of={rows.join(', ')} />
            </small>
          </>
        )}
      </>
    ),
  },
  {
    name: 'Made by',
    cell: ({ kind, judge }) =>
      kind === 'judge' ? <Text of={`judge ${judge ?? ''}`} /> : kind === 'own' ? 'own code' : 'code',
  },
  {
    name: 'Direction',
    cell: ({ higherIsBetter, rows }) => (rows.length > 1 ? EACH_ROW : formatDirection(higherIsBetter)),
  },
  {
    name: 'Range',
    cell: ({ scoreMin, scoreMax, rows }) =>
      rows.length > 1
        ? EACH_ROW
        : scoreMin === null || scoreMax === null
          ? 'not declared'
          : `${formatScore(scoreMin)} to ${formatScore(scoreMax)}`,
  },
  { name: 'Rules', cell: ({ rules }) => <Text of={rules.join(', ') || 'none'} /> },
  { name: 'In force since (UTC)', cell: ({ activeFrom }) => <Time at={activeFrom} /> },
];
