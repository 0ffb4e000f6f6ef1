import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { LongText, Text, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { budgetName } from '../view-models/budget-name.ts';
import { formatUsd } from '../view-models/format.ts';
import {
  describeHealth,
  listProcessFacts,
  listQueueFacts,
  listStoreFacts,
  type Status as Reply,
} from '../view-models/status-facts.ts';
import { writeYaml } from '../view-models/write-yaml.ts';

/** State of spanscore: version, store, queues, components, configuration without secrets. */
export function Status() {
  const status = useRead('/status');
  return (
    <Page title="Status">
      <Loaded of={status} what="the status">
        {(data) => <Parts status={data} />}
      </Loaded>
    </Page>
  );
}

/** A caller of one tenant sees fewer parts, and so does a process with few roles. */
function Parts({ status }: { readonly status: Reply }) {
  const { components, scoring, store, judges, jobs, budgets } = status;
  const { isHealthy, words } = describeHealth(status);
  return (
    <>
      <p class={isHealthy ? 'card health good' : 'card health bad'}>
        <strong>
          {isHealthy ? '✓' : '✗'} <Text of={words} />
        </strong>
      </p>
      {components !== undefined && (
        <Table
          caption="Components"
          columns={COMPONENTS}
          rows={components.toSorted((a, b) => Number(a.healthy) - Number(b.healthy))}
          keyOf={({ name }) => name}
        />
      )}
      {scoring !== undefined && (
        <Section name="Scoring">
          <Facts facts={listQueueFacts(scoring)} />
        </Section>
      )}
      {store !== undefined && (
        <Section name="Store">
          <Facts facts={listStoreFacts(store)} />
        </Section>
      )}
      {judges !== undefined && judges.length > 0 && (
        <Table
          caption="Scorers and their judges"
          columns={JUDGES}
          rows={judges}
          keyOf={({ judge, scorer }) => JSON.stringify([judge, scorer])}
        />
      )}
      {jobs !== undefined && jobs.length > 0 && (
        <Table caption="Open jobs" columns={JOBS} rows={jobs} keyOf={({ id }) => id} />
      )}
      {budgets !== undefined && budgets.length > 0 && (
        <Table caption="Budgets" columns={BUDGETS} rows={budgets} keyOf={budgetName} />
      )}
      <Section name="Process">
        <Facts
          facts={[...listProcessFacts(status), ['Started', <Time key="started" at={status.startedAt} />]]}
        />
      </Section>
      <Configuration status={status} />
    </>
  );
}

/** Configuration in force: of its keys those that differ from the defaults, or all. */
function Configuration({ status: { config, configChanges, configuration } }: { readonly status: Reply }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? config : configChanges;
  return shown === undefined ? null : (
    <Section name="Configuration">
      {configuration !== undefined && <InForce of={configuration} />}
      <p>
        <label>
          <input type="checkbox" checked={!isWhole} onChange={() => setWhole(!isWhole)} /> Changed keys only
        </label>
      </p>
      {Object.keys(shown).length === 0 && <p class="note">All keys have their defaults.</p>}
      {Object.entries(shown).map(([key, value]) => (
        <details key={key}>
          <summary>{key}</summary>
          <LongText of={writeYaml({ [key]: value })} />
        </details>
      ))}
    </Section>
  );
}

type InForceReply = NonNullable<Reply['configuration']>;

/** Revision of the configuration, and what the last reload did. */
function InForce({ of: { file, revision, loadedAt, lastReload } }: { readonly of: InForceReply }) {
  return (
    <p>
      Revision {revision} of <code>{file ?? 'the defaults'}</code>, in force since <Time at={loadedAt} />.
      {lastReload !== null && (
        <>
          {' '}
          Last reload: {lastReload.outcome} <Time at={lastReload.at} />
          {lastReload.changed.length > 0 && <Text of={` (${lastReload.changed.join(', ')})`} />}
          {lastReload.issues.map(({ path, message }) => (
            <span key={path} class="bad">
              {' '}
              ✗ <code>{path}</code>: <Text of={message} />
            </span>
          ))}
          {lastReload.needsRestart.length > 0 && (
            <span class="bad">
              {' '}
              ✗ needs a restart: <Text of={lastReload.needsRestart.join(', ')} />
            </span>
          )}
        </>
      )}
    </p>
  );
}

function Section({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      {children}
    </section>
  );
}

type Rows<Part extends keyof Reply> = NonNullable<Reply[Part]> extends readonly (infer Row)[] ? Row : never;

const COMPONENTS: readonly Column<Rows<'components'>>[] = [
  { name: 'Component', cell: ({ name }) => <Text of={name} /> },
  {
    name: 'Health',
    cell: ({ healthy }) => <span class={healthy ? 'good' : 'bad'}>{healthy ? '✓ works' : '✗ fails'}</span>,
  },
  { name: 'Reason', cell: ({ error }) => <Text of={error ?? '–'} /> },
];

const JUDGES: readonly Column<Rows<'judges'>>[] = [
  { name: 'Scorer', cell: ({ scorer }) => <Text of={scorer} /> },
  { name: 'Judge', cell: ({ judge }) => <Text of={judge || 'no judge'} /> },
  {
    name: 'State',
    cell: ({ state }) => (
      <span class={state === 'ok' ? 'good' : 'bad'}>{state === 'ok' ? '✓ works' : '✗ fails'}</span>
    ),
  },
  {
    name: 'Failures',
    cell: ({ kinds }) => (
      <Text
        of={
          Object.entries(kinds)
            .map(([kind, count]) => `${kind}: ${count}`)
            .join(', ') || 'none'
        }
      />
    ),
  },
  { name: 'Last failure', cell: ({ lastFailure }) => <Text of={lastFailure?.reason ?? '–'} /> },
];

const JOBS: readonly Column<Rows<'jobs'>>[] = [
  { name: 'Job', cell: ({ id }) => <code>{id}</code> },
  { name: 'Kind', cell: ({ kind }) => <Text of={kind} /> },
  { name: 'Status', cell: ({ status }) => <Text of={status} /> },
  { name: 'Error', cell: ({ error }) => <Text of={error ?? '–'} /> },
];

const BUDGETS: readonly Column<Rows<'budgets'>>[] = [
  { name: 'Budget', cell: (budget) => <Text of={budgetName(budget)} /> },
  { name: 'Spent', cell: ({ spentUsd }) => formatUsd(spentUsd), isNumber: true },
  { name: 'Reserved', cell: ({ reservedUsd }) => formatUsd(reservedUsd), isNumber: true },
  { name: 'Cap', cell: ({ capUsd }) => formatUsd(capUsd), isNumber: true },
];
