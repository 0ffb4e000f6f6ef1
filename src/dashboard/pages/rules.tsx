import { useState } from 'preact/hooks';
import type { Item } from '../api-types.ts';
import { write } from '../client.ts';
import { Choice } from '../parts/choice.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { applyChanges, OutcomeView, useOutcome, type Outcome } from '../parts/outcome.tsx';
import { OwnJudge } from '../parts/own-judge.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, TextLink, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { frame } from '../router.ts';
import { formatPart } from '../../domain/plural.ts';
import { mayUse } from '../session.ts';
import { formatDirection, formatPercent, formatScore } from '../view-models/format.ts';
import { RANGES } from '../view-models/frame.ts';
import { scorerPath } from '../view-models/paths/row-paths.ts';
import {
  describeRule,
  isOfChoice,
  newRuleYaml,
  readRule,
  ruleYaml,
  type ReadRule,
  type Rule,
} from '../view-models/rule-yaml.ts';
import { visibleText } from '../view-models/visible-text.ts';

type Scorer = Item<'/scorers'>;

/** The rules in force, with a preview of each and of an edited one, and the scorers. */
export function Rules() {
  const rules = useRead('/rules');
  const scorers = useRead('/scorers');
  const names = scorers.kind === 'ready' ? scorers.data.items.map(({ scorer }) => scorer) : [];
  return (
    <Page title="Rules">
      <Loaded of={rules} what="the rules">
        {({ items }) => (
          <>
            <Workbench rules={items} scorers={names} onApplied={rules.reload} />
            <OwnJudge
              rules={items}
              onApplied={() => {
                rules.reload();
                scorers.reload();
              }}
            />
          </>
        )}
      </Loaded>
      <Loaded of={scorers} what="the scorers" empty={<p>No scorers.</p>}>
        {({ items }) => (
          <Table caption="Scorers" columns={SCORER_COLUMNS} rows={items} keyOf={({ scorer }) => scorer} />
        )}
      </Loaded>
    </Page>
  );
}

/** Numbers of traces that are really judged. Their verdicts ask the judges, and count in the budgets. */
const SAMPLES = [
  ['0', 'none'],
  ['5', 'of 5 traces, judged'],
  ['10', 'of 10 traces, judged'],
  ['20', 'of 20 traces, judged'],
] as const;

interface WorkbenchProps {
  readonly rules: readonly Rule[];
  readonly scorers: readonly string[];
  readonly onApplied: () => void;
}

/** Rules beside the editor: each rule has its own text, which stays while another one is looked at. */
function Workbench({ rules, scorers, onApplied }: WorkbenchProps) {
  const [selected, setSelected] = useState<string | undefined>();
  const [drafts, setDrafts] = useState<ReadonlyMap<string, string>>(new Map());
  const [terms, setTerms] = useState({ last: '24h', sample: 0 });
  const { outcome, work } = useOutcome();
  const name = selected ?? rules.find((rule) => isOfChoice(rule, frame.value))?.rule ?? NEW_RULE;
  const textOf = (rule: string): string => {
    const found = rules.find((each) => each.rule === rule);
    return drafts.get(rule) ?? (found ? ruleYaml(found) : newRuleYaml(scorers));
  };
  const preview = (rule: string): void => {
    setSelected(rule);
    void work('Reading …', async () => {
      const isEdited = drafts.has(rule) || rules.every((each) => each.rule !== rule);
      const asked = isEdited ? (await parseRule(textOf(rule))).rule : rule;
      return { kind: 'preview', preview: await write('POST /preview', { rule: asked, ...terms }) };
    });
  };
  const apply = (): void =>
    void work('Applying …', async () => {
      const done = await applyRule(textOf(name));
      if (done.kind === 'told') {
        setDrafts(new Map());
        onApplied();
      }
      return done;
    });
  return (
    <div class="split">
      <div>
        <RuleList all={rules} selected={name} onPreview={preview} onEdit={setSelected} />
      </div>
      <section class="card" aria-labelledby="editor">
        <h2 id="editor">{name === NEW_RULE ? 'New rule' : <Text of={`Change ${name}`} />}</h2>
        <Editor
          text={textOf(name)}
          terms={terms}
          isBusy={outcome.kind === 'working'}
          onText={(text) => setDrafts(new Map(drafts).set(name, text))}
          onTerms={setTerms}
          onTry={() => preview(name)}
          onApply={apply}
        />
        <OutcomeView outcome={outcome} yaml={textOf(name)} />
      </section>
    </div>
  );
}

interface RuleListProps {
  readonly all: readonly Rule[];
  readonly selected: string;
  readonly onPreview: (rule: string) => void;
  readonly onEdit: (rule: string) => void;
}

/** Rules that can score what the bar chooses, and the way to a new one. */
function RuleList({ all, selected, onPreview, onEdit }: RuleListProps) {
  const shown = all.filter((rule) => isOfChoice(rule, frame.value));
  return (
    <>
      {all.length === 0 && <p class="card">No rules: no trace is scored.</p>}
      {shown.length < all.length && (
        <p class="card">
          {formatPart(all.length - shown.length, all.length, 'rule')} cannot score what the bar chooses.
        </p>
      )}
      {shown.map((rule) => (
        <RuleCard
          key={rule.rule}
          rule={rule}
          isSelected={rule.rule === selected}
          onPreview={() => onPreview(rule.rule)}
          onEdit={() => onEdit(rule.rule)}
        />
      ))}
      <button type="button" onClick={() => onEdit(NEW_RULE)}>
        New rule
      </button>
    </>
  );
}

async function applyRule(text: string): Promise<Outcome> {
  const { rule: value, name } = await parseRule(text);
  return applyChanges([{ path: `rules.${name}`, value }]);
}

/** Place of the rule that does not exist yet: no rule has this name. */
const NEW_RULE = '';

async function parseRule(text: string): Promise<Extract<ReadRule, { rule: unknown }>> {
  const { parse } = await import('yaml');
  const found = readRule(parse(text));
  if ('fault' in found) {
    throw new Error(found.fault);
  }
  return found;
}

interface RuleCardProps {
  readonly rule: Rule;
  readonly isSelected: boolean;
  readonly onPreview: () => void;
  readonly onEdit: () => void;
}

function RuleCard({ rule, isSelected, onPreview, onEdit }: RuleCardProps) {
  const title = `rule-${rule.rule}`;
  return (
    <section class={isSelected ? 'card selected' : 'card'} aria-labelledby={title}>
      <h2 id={title}>
        <Text of={rule.rule} />
      </h2>
      <p>
        {describeRule(rule)} ·{' '}
        {rule.activeFrom === null ? (
          'no scorer process has loaded it yet'
        ) : (
          <>
            in force since <Time at={rule.activeFrom} />
          </>
        )}
      </p>
      <p>
        {rule.scorers.map((scorer) => (
          <TextLink key={scorer} class="chip" to={scorerPath(scorer)} of={scorer} />
        ))}
      </p>
      <p class="row">
        {mayUse('admin') && (
          <button type="button" onClick={onPreview}>
            Preview<span class="unseen"> {visibleText(rule.rule)}</span>
          </button>
        )}
        <button type="button" onClick={onEdit}>
          Edit<span class="unseen"> {visibleText(rule.rule)}</span>
        </button>
      </p>
      {rule.versions.length > 1 && (
        <details>
          <summary>Versions ({rule.versions.length})</summary>
          <Table
            caption={`Versions of ${rule.rule}`}
            isCaptionHidden
            columns={VERSION_COLUMNS}
            rows={rule.versions}
            keyOf={({ version }) => version}
          />
        </details>
      )}
    </section>
  );
}

interface EditorProps {
  readonly text: string;
  readonly terms: { readonly last: string; readonly sample: number };
  readonly isBusy: boolean;
  readonly onText: (text: string) => void;
  readonly onTerms: (terms: { readonly last: string; readonly sample: number }) => void;
  readonly onTry: () => void;
  readonly onApply: () => void;
}

function Editor({ text, terms, isBusy, onText, onTerms, onTry, onApply }: EditorProps) {
  return (
    <>
      <label class="note-field">
        <span class="unseen">YAML</span>
        <textarea
          class="code"
          rows={Math.min(Math.max(text.split('\n').length + 1, 6), 24)}
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      </label>
      <p class="choices">
        <Terms terms={terms} onTerms={onTerms} />
        {mayUse('admin') && (
          <>
            <button type="button" disabled={isBusy} onClick={onTry}>
              Try the YAML
            </button>
            <button type="button" class="primary" disabled={isBusy} onClick={onApply}>
              Apply
            </button>
          </>
        )}
        <CopyButton text={text} what="the YAML" />
      </p>
    </>
  );
}

function Terms({ terms, onTerms }: Pick<EditorProps, 'terms' | 'onTerms'>) {
  return (
    <>
      <Choice
        label="Range"
        value={terms.last}
        choices={RANGES}
        onChoice={(last) => onTerms({ ...terms, last })}
      />
      <Choice
        label="Verdicts"
        value={String(terms.sample)}
        choices={SAMPLES}
        onChoice={(sample) => onTerms({ ...terms, sample: Number(sample) })}
      />
    </>
  );
}

const VERSION_COLUMNS: readonly Column<Rule['versions'][number]>[] = [
  { name: 'Version', cell: ({ version }) => <Text of={version} /> },
  { name: 'In force since', cell: ({ activeFrom }) => <Time at={activeFrom} /> },
  { name: 'Sample', cell: ({ rate }) => formatPercent(rate), isNumber: true },
];

/** Scale of a scorer that writes several rows. */
const EACH_ROW = 'each row has its own';

const SCORER_COLUMNS: readonly Column<Scorer>[] = [
  {
    name: 'Scorer',
    cell: ({ scorer, rows }) => (
      <>
        <TextLink to={scorerPath(scorer)} of={scorer} isRow />
        {rows.length > 1 && (
          <small class="below">
            writes <Text of={rows.join(', ')} />
          </small>
        )}
      </>
    ),
  },
  { name: 'Measures', cell: ({ measures }) => <Text of={measures ?? '–'} /> },
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
];
