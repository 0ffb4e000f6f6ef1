import { useState } from 'preact/hooks';
import type { Replies } from '../api-types.ts';
import { read } from '../client.ts';
import { Decisions } from '../parts/decisions.tsx';
import { Findings } from '../parts/findings.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { RunMessages } from '../parts/messages.tsx';
import { Page } from '../parts/page.tsx';
import { Score } from '../parts/score.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { adjustQuery, place, query } from '../router.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { formatDuration, formatNumber, formatUsd, UNKNOWN } from '../view-models/format.ts';
import { tracePath } from '../view-models/paths/row-paths.ts';
import { STATES } from '../view-models/trace-list.ts';
import { visibleText } from '../view-models/visible-text.ts';

type SessionDetail = Replies['/sessions/{sessionId}'];
type Turn = SessionDetail['turns'][number];

/** Turns whose messages are read at once; those of a later turn are read when the reader opens them. */
const OPEN_TURNS = 10;

/** A conversation, turn by turn, with the scores of each turn and of the whole. */
export function Session() {
  const sessionId = place.value?.params['sessionId'] ?? '';
  const tenant = query.value.get('tenant') ?? undefined;
  const session = useResource(`session ${sessionId} ${tenant}`, (signal) =>
    read('/sessions/{sessionId}', { params: { sessionId }, query: { tenant }, signal }),
  );
  return (
    <Page title={`Session ${visibleText(sessionId.slice(0, 60))}`}>
      <Loaded of={session} what="the session">
        {(data) => <Conversation session={data} />}
      </Loaded>
    </Page>
  );
}

function Conversation({ session }: { readonly session: SessionDetail }) {
  const { turns, omittedTurns, turnCount, userId, totalTokens, costUsd, scores, decisions } = session;
  return (
    <>
      <p class="lead">
        {formatNumber(turnCount)} {turnCount === 1 ? 'turn' : 'turns'} from <Time at={session.startedAt} /> to{' '}
        <Time at={session.lastTurnAt} /> (UTC) · user <Text of={userId ?? 'not known'} /> ·{' '}
        {totalTokens === null ? UNKNOWN : formatNumber(totalTokens)} tokens · {formatUsd(costUsd)}
      </p>
      <section aria-labelledby="whole">
        <h2 id="whole">Scores of the whole session</h2>
        {scores.length === 0 ? (
          <p>No scorer has scored the session as a whole.</p>
        ) : (
          <Findings
            trace={{ scores, spans: [] }}
            selected={query.value.get('claim') ?? ''}
            onSelect={({ id }) => adjustQuery({ claim: id })}
          />
        )}
        {decisions.length > 0 && <Decisions decisions={decisions} />}
      </section>
      <section aria-labelledby="turns">
        <h2 id="turns">Turns</h2>
        {omittedTurns > 0 && <p>The {formatNumber(omittedTurns)} oldest turns are left out.</p>}
        <ol class="turns">
          {turns.map((turn, index) => (
            <TurnItem
              key={turn.traceId}
              turn={turn}
              number={omittedTurns + index + 1}
              isOpenAtFirst={index < OPEN_TURNS}
            />
          ))}
        </ol>
      </section>
    </>
  );
}

interface TurnItemProps {
  readonly turn: Turn;
  readonly number: number;
  readonly isOpenAtFirst: boolean;
}

function TurnItem({ turn, number, isOpenAtFirst }: TurnItemProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const { startedAt, durationMs, state, scores } = turn;
  return (
    <li>
      <article aria-label={`Turn ${number}`}>
        <h3>
          <a href={tracePath(turn)} data-row-link>
            Turn {number}
          </a>
        </h3>
        <p class="note">
          <Time at={startedAt} /> UTC · {formatDuration(durationMs)} · {STATES[state].sign}{' '}
          {STATES[state].words}
        </p>
        <div class="turn">
          {isOpen ? (
            <TurnMessages turn={turn} />
          ) : (
            <button type="button" onClick={() => setOpen(true)}>
              Show the messages of turn {number}
            </button>
          )}
          <ul class="turn-scores" aria-label={`Scores of turn ${number}`}>
            {scores.map((score) => (
              <li key={score.scoreId}>
                <a href={fillPath('/scores/:scorer', { scorer: score.scorer })}>
                  <Text of={score.scorer} />
                </a>{' '}
                <Score {...score} />
              </li>
            ))}
          </ul>
        </div>
      </article>
    </li>
  );
}

function TurnMessages({ turn: { tenant, traceId } }: { readonly turn: Turn }) {
  const trace = useResource(`turn ${tenant} ${traceId}`, (signal) =>
    read('/traces/{traceId}', { params: { traceId }, query: { tenant }, signal }),
  );
  return (
    <Loaded
      of={trace}
      what="the messages of the turn"
      isEmpty={({ reading }) => (reading?.runs.length ?? 0) === 0}
      empty={<p>The messages are not stored any more.</p>}
    >
      {({ reading }) => (
        <>
          {reading?.runs.map((run) => (
            <RunMessages key={run.target.spanId} run={run} level={4} />
          ))}
        </>
      )}
    </Loaded>
  );
}
