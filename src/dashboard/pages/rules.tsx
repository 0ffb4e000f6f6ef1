import { read, ProblemError, write } from '../client.ts';
import type { Item } from '../api-types.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { formatDirection, formatPercent, formatScore, formatUsd } from '../view-models/format.ts';
import { describeCounts } from '../view-models/overview-rows.ts';
import { ruleYaml, type Rule } from '../view-models/rule-yaml.ts';
import { visibleText } from '../view-models/visible-text.ts';
import { useState } from 'preact/hooks';
import {
  describeEstimate,
  describeFirings,
  describeVolume,
  listNotUnderstood,
  listVerdicts,
  type Preview,
  type PreviewRow,
} from '../view-models/estimate.ts';
import { sessionPath, tracePath } from '../view-models/paths/row-paths.ts';

const TRACE: Column<PreviewRow> = {
  name: 'Trace',
  cell: ({ tenant, traceId }) => (
    <a href={tracePath({ tenant, traceId })}>
      <code>{traceId.slice(0, 8)}</code>
    </a>
  ),
};

const SESSION: Column<PreviewRow> = {
  name: 'Session',
  cell: ({ tenant, sessionId }) => (
    <a href={sessionPath({ tenant, sessionId })}>
      <Text of={sessionId} />
    </a>
  ),
};

const COLUMNS: readonly Column<PreviewRow>[] = [
  { name: 'Run', cell: ({ run }) => <Text of={run} /> },
  { name: 'Scorer', cell: ({ scorer }) => <Text of={scorer} /> },
  {
    name: 'Verdict',
    cell: ({ score, status, label, reason }) => (
      <Text of={[score === null ? status : formatScore(score), label, reason].filter(Boolean).join(' · ')} />
    ),
  },
  {
    name: 'Stored',
    cell: ({ stored }) =>
      stored === null
        ? 'none'
        : `${formatScore(stored.score)}${stored.isSameScorer ? '' : ' (another version)'}`,
  },
];

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

type State =
  | { readonly kind: 'none' | 'asking' }
  | { readonly kind: 'failed'; readonly why: string }
  | {
      readonly kind: 'ready';
      readonly preview: Preview;
    };

/** Shows the preview of a rule over the last day. Verdicts cost money, so a button of their own asks for them. */
function RulePreview({ rule }: { readonly rule: string }) {
  const [state, setState] = useState<State>({ kind: 'none' });
  const ask = async (sample: number): Promise<void> => {
    setState({ kind: 'asking' });
    try {
      setState({ kind: 'ready', preview: await write('POST /preview', { rule, last: '24h', sample }) });
    } catch (error) {
      setState({ kind: 'failed', why: error instanceof ProblemError ? error.problem.detail : String(error) });
    }
  };
  const isAsking = state.kind === 'asking';
  return (
    <div>
      <p>
        <button type="button" disabled={isAsking} onClick={() => void ask(0)}>
          Preview volume and cost
          <span class="unseen"> of {visibleText(rule)}</span>
        </button>{' '}
        <button type="button" disabled={isAsking} onClick={() => void ask(10)}>
          Preview with 10 verdicts
          <span class="unseen"> of {visibleText(rule)}</span>
        </button>{' '}
        <small>Of the last 24 hours. Verdicts ask the judges, and count in the budgets.</small>
      </p>
      <p role="status">
        {isAsking && 'Reading …'}
        {state.kind === 'failed' && <Text of={`No preview: ${state.why}`} />}
      </p>
      {state.kind === 'ready' && <Shown preview={state.preview} />}
    </div>
  );
}

function Shown({ preview }: { readonly preview: Preview }) {
  const { rule, estimate, monitors, isComplete, costUsd } = preview;
  const rows = listVerdicts(preview);
  return (
    <>
      <p>
        <Text of={describeVolume(preview)} />
        {!isComplete && ' There was no time to list all of them: the numbers are too small.'}
      </p>
      <p>
        <Text of={describeEstimate(estimate)} />
      </p>
      <ul>
        {monitors.map((monitor) => (
          <li key={`${monitor.alert} ${monitor.series}`}>
            <Text of={`${monitor.alert} on ${monitor.series} ${describeFirings(monitor)}`} />
          </li>
        ))}
        {monitors.length === 0 && <li>No monitor watches these scorers.</li>}
        {listNotUnderstood(preview).map((text) => (
          <li key={text}>
            Not understood: <Text of={text} />
          </li>
        ))}
      </ul>
      {rows.length > 0 && (
        <>
          <Table
            caption={`Verdicts of ${rule.name}`}
            columns={[rule.target === 'session' ? SESSION : TRACE, ...COLUMNS]}
            rows={rows}
            keyOf={({ tenant, traceId, targetId, scorer }) => `${tenant} ${traceId} ${targetId} ${scorer}`}
          />
          <p>The verdicts cost {formatUsd(costUsd)}.</p>
        </>
      )}
    </>
  );
}
