import type { Replies } from '../api-types.ts';
import { Agreement } from '../parts/agreement.tsx';
import { Choice } from '../parts/choice.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { Text, TextLink, Time } from '../parts/text.tsx';
import { VersionTable } from '../parts/versions.tsx';
import { useRead } from '../resource.ts';
import { adjustQuery, frame, framed, query } from '../router.ts';
import { describeComparison, type Comparison } from '../view-models/comparison.ts';
import { fillPath, type Query } from '../view-models/paths/fill-path.ts';
import { formatNumber } from '../view-models/format.ts';
import { isMeasure } from '../view-models/trace-list.ts';
import { chooseVersions } from '../view-models/versions.ts';

const TABS = [
  { name: 'versions', title: 'Versions of an agent' },
  { name: 'scorers', title: 'Scorers and people' },
] as const;

type TabName = (typeof TABS)[number]['name'];

type Quality = Replies['/agents/{agent}/versions']['items'][number];

/** True for a measure without a pass line whose versions are alike. */
const isSameMeasure = (item: Quality): boolean => item.verdict === 'not_shown' && isMeasure(item);

const listNames = (items: readonly Quality[]): string => items.map(({ scorer }) => scorer).join(', ');

/** Comparisons: two versions of an agent, or two judges of the same answers. */
export function Compare() {
  const selected = readTab(query.value);
  return (
    <Page title="Compare">
      <Tabs
        label="Kinds of comparisons"
        tabs={TABS}
        selected={selected}
        onSelect={(tab) => adjustQuery({ tab, left: undefined, right: undefined })}
      >
        {selected === 'versions' ? <AgentVersions /> : <Scorers />}
      </Tabs>
    </Page>
  );
}

/** An address with both sides and without an agent is about scorers. */
function readTab(search: URLSearchParams): TabName {
  const isOfScorers = search.has('left') && search.has('right') && !search.has('agent');
  return TABS.find(({ name }) => name === search.get('tab'))?.name ?? (isOfScorers ? 'scorers' : 'versions');
}

type Agents = Replies['/agents']['items'];

function AgentVersions() {
  const agents = useRead('/agents', { query: { since: ALL_VERSIONS } });
  return (
    <Loaded
      of={agents}
      what="the agents"
      empty={
        <p>
          No agent has sent a run. <a href="/welcome">Connect an agent</a>.
        </p>
      }
    >
      {({ items }) => <AgentChoice agents={items} />}
    </Loaded>
  );
}

/** Range in which versions are looked for. */
const ALL_VERSIONS = '90d';

function AgentChoice({ agents }: { readonly agents: Agents }) {
  const search = query.value;
  const asked = search.get('agent');
  const sides = [search.get('left'), search.get('right')].filter((side) => side !== null);
  const agent =
    asked === null
      ? (agents.find(({ versions }) => versions.length > 1 && hasAll(versions, sides)) ?? agents[0])
      : (agents.find((each) => each.agent === asked) ?? { agent: asked, versions: [] });
  if (agent === undefined) {
    return null;
  }
  const chosen = chooseVersions(agent.versions, { left: search.get('left'), right: search.get('right') });
  const names = agent.versions.map(({ version }) => [version, version || 'no version'] as const);
  return (
    <>
      <p class="choices">
        <Choice
          label="Compare versions of"
          value={agent.agent}
          choices={agents.map((each) => each.agent)}
          onChoice={(name) => adjustQuery({ agent: name, left: undefined, right: undefined })}
        />
        {chosen !== undefined && (
          <>
            <Choice
              label="Version before"
              value={chosen.left}
              choices={names}
              onChoice={(version) => adjustQuery({ agent: agent.agent, ...chosen, left: version })}
            />
            <Choice
              label="Version after"
              value={chosen.right}
              choices={names}
              onChoice={(version) => adjustQuery({ agent: agent.agent, ...chosen, right: version })}
            />
          </>
        )}
      </p>
      {chosen === undefined ? (
        <p>
          <Text of={agent.agent} /> has sent one version only. The attribute <code>gen_ai.agent.version</code>{' '}
          or <code>service.version</code> names the version of a run.
        </p>
      ) : (
        <Versions agent={agent.agent} {...chosen} />
      )}
    </>
  );
}

function hasAll(versions: Agents[number]['versions'], wanted: readonly string[]): boolean {
  return wanted.every((each) => versions.some(({ version }) => version === each));
}

interface VersionsProps {
  readonly agent: string;
  readonly left: string;
  readonly right: string;
}

function Versions({ agent, left, right }: VersionsProps) {
  const versions = useRead('/agents/{agent}/versions', { params: { agent }, query: { left, right } });
  return (
    <Loaded of={versions} what="the versions">
      {(data) => (
        <>
          <VersionTable versions={{ ...data, items: data.items.filter((item) => !isSameMeasure(item)) }} />
          {data.items.some(isSameMeasure) && (
            <p class="note">
              No difference is shown in <Text of={listNames(data.items.filter(isSameMeasure))} />.
            </p>
          )}
          <p class="note">
            Pass rates of all runs of both versions with their 95 % intervals. Evidence: odds for a change
            against none. Traces of{' '}
            <TextLink to={framed('/traces', { agent, agentVersion: left })} of={left} /> and{' '}
            <TextLink to={framed('/traces', { agent, agentVersion: right })} of={right} />.
          </p>
        </>
      )}
    </Loaded>
  );
}

function Scorers() {
  const [left, right] = [query.value.get('left') ?? '', query.value.get('right') ?? ''];
  return (
    <>
      <Agreement since={frame.value['since']?.[0]} />
      <section aria-labelledby="sides">
        <h2 id="sides">Two scorers on the same answers</h2>
        <p class="note">
          A side is a scorer, one version of it (scorer@fingerprint), or labels of people (human:scorer).
        </p>
        <Sides left={left} right={right} />
        {left !== '' && right !== '' && <Result left={left} right={right} />}
      </section>
    </>
  );
}

interface SidesProps {
  readonly left: string;
  readonly right: string;
}

/** Form whose fields are parameters of the page's address, so that a link shows the same. */
function Sides({ left, right }: SidesProps) {
  const side = (name: string, label: string, value: string, example: string) => (
    <label>
      {label}
      <input name={name} value={value} placeholder={example} autocomplete="off" />
    </label>
  );
  return (
    <form
      role="search"
      aria-label="Choose both sides"
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        adjustQuery(Object.fromEntries(new FormData(event.currentTarget)) as Query);
      }}
    >
      {side('left', 'Left', left, 'hallucination')}
      {side('right', 'Right', right, 'human:correctness')}
      <button type="submit">Apply</button>
      <button type="button" onClick={() => adjustQuery({ left: undefined, right: undefined })}>
        Clear
      </button>
    </form>
  );
}

function Result({ left, right }: SidesProps) {
  const asked = { ...frame.value, left, right };
  const comparison = useRead('/compare', { query: asked });
  return (
    <Loaded of={comparison} what="the comparison">
      {(data) => (
        <>
          <p role="status">
            <Text of={describeComparison(data)} />
          </p>
          <Confusion comparison={data} />
          <section aria-labelledby="disagreements">
            <h3 id="disagreements">Traces on which the sides disagree</h3>
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
            Scores from <Time at={data.since} /> to <Time at={data.until} />. A score passes when it is not in
            the worst label of its scorer; without labels, from the bar of the scorer on, else in the better
            half of its range.
          </p>
        </>
      )}
    </Loaded>
  );
}

/** Answer of the left side, with the targets of each answer of the right one. */
interface Answered {
  readonly name: string;
  readonly passes: string;
  readonly fails: string;
}

function Confusion({ comparison: { left, right, confusion } }: { readonly comparison: Comparison }) {
  const { bothPass, leftPasses, rightPasses, bothFail } = confusion;
  const rows: readonly Answered[] = [
    { name: `${left} passes`, passes: `✓ ${formatNumber(bothPass)}`, fails: `≠ ${formatNumber(leftPasses)}` },
    { name: `${left} fails`, passes: `≠ ${formatNumber(rightPasses)}`, fails: `✓ ${formatNumber(bothFail)}` },
  ];
  const columns: readonly Column<Answered>[] = [
    { name: 'Side', cell: ({ name }) => <Text of={name} /> },
    { name: `${right} passes`, cell: ({ passes }) => passes, isNumber: true },
    { name: `${right} fails`, cell: ({ fails }) => fails, isNumber: true },
  ];
  const caption = 'Targets by the answers of both sides';
  return <Table caption={caption} columns={columns} rows={rows} keyOf={({ name }) => name} />;
}
