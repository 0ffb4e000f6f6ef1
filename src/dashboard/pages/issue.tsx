import { useRef, useState } from 'preact/hooks';
import type { IssueDetail } from '../api-types.ts';
import { write } from '../client.ts';
import { useOrders, type Order } from '../orders.tsx';
import { MarkedText } from '../parts/answer.tsx';
import { Choice } from '../parts/choice.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Facts } from '../parts/facts.tsx';
import { IssuePoints, IssueState } from '../parts/issues.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, TextLink, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { frame, framed, place, push } from '../router.ts';
import { mayUse } from '../session.ts';
import { markAnswer } from '../view-models/answer.ts';
import { formatNumber } from '../view-models/format.ts';
import { formatCount } from '../../domain/plural.ts';
import { describeProof, formatShare, issueFilters, nameIssue, nameKind } from '../view-models/issues.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { tracePath } from '../view-models/paths/row-paths.ts';
import { showJson } from '../view-models/visible-text.ts';
import { BASE_PATH } from '../base-path.ts';

/** One issue: how often, where it occurs, examples with their evidence, and what people did with it. */
export function Issue() {
  const issueId = place.value?.params['issueId'] ?? '';
  const { agent: _, ...range } = issueFilters(frame.value);
  const issue = useRead('/issues/{id}', { params: { id: issueId }, query: range });
  const { outcome, order } = useOrders(issue.reload);
  return (
    <Page title={issue.kind === 'ready' ? nameIssue(issue.data) : 'Issue'}>
      <p>{outcome}</p>
      <Loaded of={issue} what="the issue">
        {(data) => (
          <>
            <Head issue={data} order={order} />
            <div class="split">
              <Examples key={data.id} issue={data} order={order} />
              <div>
                <Where issue={data} />
                <History history={data.history} />
                <AsTests id={data.id} />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface HeadProps {
  readonly issue: IssueDetail;
  readonly order: Order;
}

function Head({ issue, order }: HeadProps) {
  const { kind, agent, state, share, points, runs, users, sessions, firstSeen, lastSeen } = issue;
  const proof = describeProof(issue);
  return (
    <div class="card">
      <Facts
        facts={[
          ['State', <IssueState key="state" state={state} />],
          ['Share of runs', formatShare(share)],
          ['Over time', <IssuePoints key="points" points={points} />],
          ['Runs', formatNumber(runs)],
          ['Users', formatNumber(users)],
          ['Sessions', formatNumber(sessions)],
          ['Kind', nameKind(kind)],
          ['Agent', <TextLink key="agent" to={framed(fillPath('/agents/:agent', { agent }))} of={agent} />],
          ['First seen', <Time key="first" at={firstSeen} />],
          ['Last seen', <Time key="last" at={lastSeen} />],
        ]}
      />
      {proof !== undefined && (
        <p>
          <Text of={proof} />
        </p>
      )}
      <Actions issue={issue} order={order} />
    </div>
  );
}

function Actions({ issue, order }: HeadProps) {
  const { id, state, versions } = issue;
  const title = nameIssue(issue);
  const version = useRef<HTMLInputElement>(null);
  const isOpen = state !== 'resolved' && state !== 'ignored';
  if (!mayUse('admin')) {
    return null;
  }
  const send = (what: 'reopen' | 'ignore', done: string): void =>
    order(() => write(`POST /issues/{id}/${what}`, undefined, { params: { id } }), done);
  const resolve = (): void => {
    const named = version.current?.value.trim() ?? '';
    order(
      () => write('POST /issues/{id}/resolve', named === '' ? {} : { version: named }, { params: { id } }),
      named === '' ? `${title} is resolved.` : `${title} is resolved in ${named}; its runs are tested.`,
    );
  };
  return (
    <div class="row">
      {isOpen && (
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            resolve();
          }}
        >
          <label class="choice">
            Mended in version
            <input ref={version} list="versions" placeholder="if one mends it" autocomplete="off" />
          </label>
          <datalist id="versions">
            {versions.map((each) => (
              <option key={each.version} value={each.version} />
            ))}
          </datalist>
          <button type="submit" class="primary">
            Resolve
          </button>
        </form>
      )}
      {isOpen ? (
        <button type="button" onClick={() => send('ignore', `${title} is ignored.`)}>
          Ignore
        </button>
      ) : (
        <button type="button" onClick={() => send('reopen', `${title} is open again.`)}>
          Reopen
        </button>
      )}
      <Merge issue={issue} order={order} />
    </div>
  );
}

function openIssue(issueId: string): void {
  push(BASE_PATH + framed(fillPath('/issues/:issueId', { issueId })));
}

/** Choice of another issue of the agent that this one is a part of. */
function Merge({ issue: { id, agent, tenant }, order }: HeadProps) {
  const others = useRead('/issues', { query: { agent, since: '90d' } });
  const choices =
    others.kind === 'ready'
      ? others.data.items.filter((each) => each.id !== id && each.tenant === tenant)
      : [];
  const merge = (into: string): void =>
    order(async () => {
      await write('POST /issues/{id}/merge', { into }, { params: { id } });
      openIssue(into);
    }, 'The issues are one.');
  return choices.length === 0 ? null : (
    <Choice
      label="Merge into"
      value=""
      choices={[['', 'another issue …'], ...choices.map((each) => [each.id, nameIssue(each)] as const)]}
      onChoice={(into) => (into === '' ? undefined : merge(into))}
    />
  );
}

type Example = IssueDetail['examples'][number];

/** Runs that a person takes out of an issue. */
interface Choosing {
  readonly chosen: readonly string[];
  readonly choose: (traceId: string) => void;
}

/** Runs with the issue, each with what it says beside what contradicts it. Runs of another fault can be split off. */
function Examples({ issue: { id, tenant, runs, examples }, order }: HeadProps) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const choose = (traceId: string): void =>
    setChosen(chosen.includes(traceId) ? chosen.filter((each) => each !== traceId) : [...chosen, traceId]);
  const choosing = runs > 1 && mayUse('admin') ? { chosen, choose } : undefined;
  const split = (): void =>
    order(async () => {
      const made = await write('POST /issues/{id}/split', { traceIds: chosen }, { params: { id } });
      openIssue(made.id);
    }, 'The runs are an issue of their own.');
  return (
    <section class="card" aria-labelledby="examples">
      <div class="row between">
        <h2 id="examples">
          Examples <span class="quiet">· the newest of {formatNumber(runs)} runs</span>
        </h2>
        {choosing !== undefined && (
          <button type="button" class="small" disabled={chosen.length === 0} onClick={split}>
            Split off {chosen.length === 0 ? 'chosen runs' : formatCount(chosen.length, 'run')}
          </button>
        )}
      </div>
      {examples.length === 0 && <p>No run with it is in this time, or its texts are not stored any more.</p>}
      <ul class="plain answers" aria-label="Examples">
        {examples.map((example) => (
          <li key={example.traceId} class="example">
            <ExampleItem example={example} tenant={tenant} choosing={choosing} />
          </li>
        ))}
      </ul>
      {runs > examples.length && <Runs id={id} tenant={tenant} choosing={choosing} />}
    </section>
  );
}

interface RunProps {
  readonly tenant: string;
  readonly choosing: Choosing | undefined;
}

/** Link to a run, with a box that chooses it. */
function RunLink({
  traceId,
  at,
  tenant,
  choosing,
  isOfRow = false,
}: RunProps & { readonly traceId: string; readonly at: string | null; readonly isOfRow?: boolean }) {
  return (
    <>
      {choosing !== undefined && (
        <>
          <input
            type="checkbox"
            aria-label={`Choose run ${traceId.slice(0, SHORT_ID)}`}
            checked={choosing.chosen.includes(traceId)}
            onChange={() => choosing.choose(traceId)}
          />{' '}
        </>
      )}
      <a href={tracePath({ tenant, traceId })} {...(isOfRow ? { 'data-row-link': true } : {})}>
        <Time at={at} />
      </a>
    </>
  );
}

/** Letters of an id that tell runs of a list apart. */
const SHORT_ID = 8;

function ExampleItem({ example, tenant, choosing }: RunProps & { readonly example: Example }) {
  const { traceId, at, question, answer, claim, evidence, error, comment } = example;
  const { parts, elsewhere } = markAnswer(answer ?? '', claim === null ? [] : [claim]);
  return (
    <>
      <div>
        <RunLink traceId={traceId} at={at} tenant={tenant} choosing={choosing} isOfRow />
        {(question ?? '') !== '' && (
          <p class="quiet">
            “<Text of={question ?? ''} />”
          </p>
        )}
        <p class="answer">
          <MarkedText parts={parts} />
        </p>
        {elsewhere.length > 0 && (
          <p>
            <mark>
              <Text of={claim ?? ''} />
            </mark>
          </p>
        )}
      </div>
      <div>
        {evidence !== null && (
          <>
            <span class="bad">✗ against</span> <Text of={evidence.source} />
            <pre>
              <Text of={showJson(evidence.quote)} />
            </pre>
          </>
        )}
        {[error, comment].map((text) =>
          (text ?? '') === '' ? null : (
            <pre key={text}>
              <Text of={showJson(text ?? '')} />
            </pre>
          ),
        )}
      </div>
    </>
  );
}

/** Runs of the list. */
const RUNS = 50;

/** Newest runs with the issue as links, once a reader asks for them. */
function Runs({ id, tenant, choosing }: RunProps & { readonly id: string }) {
  const { agent: _, ...range } = issueFilters(frame.value);
  const runs = useRead('/issues/{id}/traces', { params: { id }, query: range });
  return (
    <details>
      <summary>All runs with it</summary>
      <Loaded of={runs} what="the runs">
        {({ items }) => (
          <ul class="plain runs">
            {items.slice(0, RUNS).map(({ traceId, at, version, userId }) => (
              <li key={traceId}>
                <RunLink traceId={traceId} at={at} tenant={tenant} choosing={choosing} />{' '}
                <Text of={[version, userId].filter((each) => each !== '').join(' · ')} />
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </details>
  );
}

interface Place {
  readonly dimension: string;
  readonly value: string;
  readonly runs: number;
  readonly share: IssueDetail['share'];
}

const PLACE_COLUMNS: readonly Column<Place>[] = [
  {
    name: 'Segment',
    cell: ({ dimension, value }) => (
      <>
        <Text of={value === '' ? 'none' : value} /> <small>{dimension}</small>
      </>
    ),
  },
  { name: 'Runs', cell: ({ runs }) => formatNumber(runs), isNumber: true },
  { name: 'Share', cell: ({ share }) => formatShare(share), isNumber: true },
];

/** Segments of the traffic in which the issue occurs. */
function Where({ issue: { segments, versions } }: { readonly issue: IssueDetail }) {
  const places: readonly Place[] =
    segments ?? versions.map((each) => ({ dimension: 'version', value: each.version, ...each }));
  return (
    <section class="card" aria-label="Where it occurs">
      <Table
        caption="Where it occurs"
        columns={PLACE_COLUMNS}
        rows={places}
        keyOf={({ dimension, value }) => `${dimension} ${value}`}
      />
    </section>
  );
}

function History({ history }: Pick<IssueDetail, 'history'>) {
  return (
    <section class="card" aria-labelledby="history">
      <h2 id="history">History</h2>
      {history.length === 0 && <p>Nobody has changed it.</p>}
      <ul class="plain">
        {history.toReversed().map(({ at, by, what }) => (
          <li key={`${at} ${what}`}>
            <Text of={what} />{' '}
            <small>
              <Text of={by ?? 'spanscore'} />, <Time at={at} />
            </small>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Command that writes the failures of the issue as tests. */
function AsTests({ id }: { readonly id: string }) {
  const command = `npx spanscore issues tests ${id} --out issue-${id}`;
  return (
    <section class="card" aria-labelledby="as-tests">
      <h2 id="as-tests">As tests</h2>
      <p class="note">Writes its failures as cases that fail until the agent is mended.</p>
      <pre>{command}</pre>
      <CopyButton text={command} what="the command" />
    </section>
  );
}
