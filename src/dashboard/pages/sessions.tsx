import type { Item } from '../api-types.ts';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, TextLink, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { frame, framed, query } from '../router.ts';
import { formatNumber, formatScore, formatUsd } from '../view-models/format.ts';
import { sessionPath } from '../view-models/paths/row-paths.ts';

type Row = Item<'/sessions'>;

/** List of conversations, newest first. */
export function Sessions() {
  const cursor = query.value.get('cursor') ?? undefined;
  const userId = query.value.get('userId') ?? undefined;
  const asked = { ...frame.value, userId, cursor };
  const sessions = useRead('/sessions', { query: asked });
  return (
    <Page title="Sessions">
      {userId !== undefined && (
        <p>
          Sessions of the user <Text of={userId} />. <a href={framed('/sessions')}>All sessions</a>
        </p>
      )}
      <Loaded
        of={sessions}
        what="the sessions"
        empty={
          <p>
            No sessions in this time. A session is the traces with one <code>gen_ai.conversation.id</code> or{' '}
            <code>session.id</code>: let your agent send it, or choose a longer time.
          </p>
        }
      >
        {({ items, next }) => (
          <>
            <Table
              caption="Sessions"
              isCaptionHidden
              columns={COLUMNS}
              rows={items}
              keyOf={({ tenant, sessionId }) => JSON.stringify([tenant, sessionId])}
            />
            <p class="pages">
              {formatNumber(items.length)} sessions on this page.{' '}
              {cursor !== undefined && <a href={framed('/sessions', { userId })}>First page</a>}{' '}
              {next !== null && <a href={framed('/sessions', { userId, cursor: next })}>Next page</a>}
            </p>
          </>
        )}
      </Loaded>
    </Page>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  {
    name: 'Started',
    cell: (row) => (
      <a href={sessionPath(row)} data-row-link>
        <Time at={row.startedAt} />
      </a>
    ),
  },
  {
    name: 'Agent',
    cell: ({ agents, services }) => <Text of={(agents.length > 0 ? agents : services).join(', ')} />,
  },
  { name: 'Turns', cell: ({ turnCount }) => formatNumber(turnCount), isNumber: true },
  {
    name: 'User',
    cell: ({ userId }) =>
      userId === null ? '–' : <TextLink to={framed('/sessions', { userId })} of={userId} />,
  },
  {
    name: 'Worst',
    cell: ({ worst }) =>
      worst === null ? (
        '–'
      ) : (
        <>
          <Text of={worst.scorer} /> <b>{formatScore(worst.score)}</b>
        </>
      ),
  },
  { name: 'Cost', cell: ({ costUsd }) => formatUsd(costUsd), isNumber: true },
];
