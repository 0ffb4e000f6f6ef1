import { useState } from 'preact/hooks';
import type { Replies } from '../api-types.ts';
import { Decisions } from '../parts/decisions.tsx';
import { Facts } from '../parts/facts.tsx';
import { Findings } from '../parts/findings.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { RunMessages } from '../parts/messages.tsx';
import { Page } from '../parts/page.tsx';
import { Text, TextLink, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { adjustQuery, framed, place, query } from '../router.ts';
import { formatDuration, formatNumber, formatUsd, UNKNOWN } from '../view-models/format.ts';
import { scorerPath, tracePath } from '../view-models/paths/row-paths.ts';
import { describeNotScored, listChips, STATES } from '../view-models/trace-list.ts';
import { cutForReading, visibleText } from '../view-models/visible-text.ts';

type SessionDetail = Replies['/sessions/{sessionId}'];
type Turn = SessionDetail['turns'][number];

/** Characters of a session id in the title. */
const TITLE_CHARS = 60;

/** A conversation, turn by turn, with the scores of each turn and of the whole. */
export function Session() {
  const sessionId = place.value?.params['sessionId'] ?? '';
  const tenant = query.value.get('tenant') ?? undefined;
  const session = useRead('/sessions/{sessionId}', { params: { sessionId }, query: { tenant } });
  return (
    <Page title={`Session ${visibleText(sessionId.slice(0, TITLE_CHARS))}`}>
      <Loaded of={session} what="the session">
        {(data) => <Conversation session={data} />}
      </Loaded>
    </Page>
  );
}

function Conversation({ session }: { readonly session: SessionDetail }) {
  const { turns, omittedTurns, turnCount, userId, agents, totalTokens, costUsd, scores, decisions } = session;
  return (
    <>
      <Facts
        facts={[
          ['Turns', formatNumber(turnCount)],
          ['Cost', formatUsd(costUsd)],
          ['Tokens', formatNumber(totalTokens)],
          ['Agent', <Text key="agent" of={agents.join(', ') || UNKNOWN} />],
          [
            'User',
            userId === null ? (
              UNKNOWN
            ) : (
              <TextLink key="user" to={framed('/sessions', { userId })} of={userId} />
            ),
          ],
          ['Began', <Time key="began" at={session.startedAt} />],
          ['Last turn', <Time key="last" at={session.lastTurnAt} />],
        ]}
      />
      {scores.length > 0 && (
        <section aria-labelledby="whole">
          <h2 id="whole">The whole session</h2>
          <Findings
            trace={{ scores, spans: [] }}
            selected={query.value.get('claim') ?? ''}
            onSelect={({ id }) => adjustQuery({ claim: id })}
          />
        </section>
      )}
      <section aria-labelledby="turns">
        <h2 id="turns">Turns</h2>
        {omittedTurns > 0 && <p>The {formatNumber(omittedTurns)} oldest turns are left out.</p>}
        <ol class="turns" aria-labelledby="turns">
          {turns.map((turn, index) => (
            <TurnItem key={turn.traceId} turn={turn} number={omittedTurns + index + 1} />
          ))}
        </ol>
      </section>
      {decisions.length > 0 && (
        <details>
          <summary>Why the whole session was scored, or not</summary>
          <Decisions decisions={decisions} />
        </details>
      )}
    </>
  );
}

function TurnItem({ turn, number }: { readonly turn: Turn; readonly number: number }) {
  const { startedAt, durationMs, costUsd, question, answer, status } = turn;
  const [toolCalls, toolErrors] = [turn.toolCalls ?? 0, turn.toolErrors ?? 0];
  const [isOpen, setOpen] = useState(false);
  return (
    <li class="turn">
      <p class="note">
        <a href={tracePath(turn)} data-row-link>
          Turn {number}
        </a>{' '}
        · <Time at={startedAt} /> · {formatDuration(durationMs)} · {formatUsd(costUsd)}
        {status === 'error' && <span class="bad"> · ✗ error</span>}
      </p>
      <Bubble who="user" text={question} />
      {toolCalls > 0 && (
        <p class="tools-line">
          {formatNumber(toolCalls)} {toolCalls === 1 ? 'tool call' : 'tool calls'}
          {toolErrors > 0 && <span class="bad">, ✗ {formatNumber(toolErrors)} failed</span>}
        </p>
      )}
      <Bubble who="agent" text={answer} />
      <p class="turn-scores">
        <TurnScores turn={turn} />
      </p>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>All messages of turn {number}</summary>
        {isOpen && <TurnMessages turn={turn} />}
      </details>
    </li>
  );
}

function Bubble({ who, text }: { readonly who: 'user' | 'agent'; readonly text: string | null }) {
  if (text === null || text === '') {
    return (
      <p class={`bubble ${who} note`}>
        {who === 'user' ? 'The question is not stored.' : 'The answer is not stored.'}
      </p>
    );
  }
  const { shown, hidden } = cutForReading(text);
  return (
    <p class={`bubble ${who}`}>
      <span class="unseen">{who === 'user' ? 'Question: ' : 'Answer: '}</span>
      <Text of={hidden > 0 ? `${shown}…` : shown} />
    </p>
  );
}

/** Chips of a turn without qualities before the reader asks for all. */
const LEAST_CHIPS = 2;

/** Scores of a turn, the bad ones first, or the reason why there is none. */
function TurnScores({ turn }: { readonly turn: Turn }) {
  const [isWhole, setWhole] = useState(false);
  const chips = listChips(turn);
  const first = chips.filter(({ isBad }) => isBad !== undefined).length || LEAST_CHIPS;
  if (chips.length === 0) {
    const { sign, words } = STATES[turn.state];
    const reasons = describeNotScored(turn);
    return (
      <span class="note">
        {sign} <Text of={reasons === '' ? words : reasons} />
      </span>
    );
  }
  return (
    <>
      {(isWhole ? chips : chips.slice(0, first)).map(({ key, scorer, text, isBad }) => (
        <a key={key} class={isBad ? 'chip bad' : 'chip'} href={scorerPath(scorer)}>
          <span aria-hidden="true">{isBad === undefined ? '·' : isBad ? '✗' : '✓'}</span> <Text of={scorer} />{' '}
          <b>{text}</b>
        </a>
      ))}
      {!isWhole && chips.length > first && (
        <button type="button" class="chip" onClick={() => setWhole(true)}>
          {chips.length - first} more
        </button>
      )}
    </>
  );
}

function TurnMessages({ turn: { tenant, traceId } }: { readonly turn: Turn }) {
  const trace = useRead('/traces/{traceId}', { params: { traceId }, query: { tenant } });
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
            <RunMessages key={run.target.spanId} run={run} />
          ))}
        </>
      )}
    </Loaded>
  );
}
