import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { read, write } from './client.ts';
import { isHelpOpen } from './keyboard.ts';
import { Choice } from './parts/choice.tsx';
import { answeredAtMs, isPaused, isServerGone, nowMs, startRenewals } from './live.ts';
import { useRead } from './resource.ts';
import { adjustQuery, framed, path, push, query } from './router.ts';
import { isSignedOut, scopes } from './session.ts';
import { theme, THEMES } from './theme.ts';
import { BASE_PATH } from './base-path.ts';
import { formatDuration } from './view-models/format.ts';
import { chooseInFrame, defaultSince, keepFrame, searchPath, TIME_RANGES } from './view-models/frame.ts';
import { MENU, SET_UP } from './view-models/shortcuts.ts';

/** States of monitors that are read for the number of open incidents: those that fire come first. */
const STATES_READ = 100;

/** Number of open incidents of monitors that nobody has muted. */
const openIncidents = signal(0);

async function countIncidents(): Promise<void> {
  const { items } = await read('/monitors', {
    query: { order: 'firing', limit: STATES_READ },
    signal: AbortSignal.timeout(20_000),
  });
  const open = items.filter(({ incidentId, muted }) => incidentId !== null && !muted);
  openIncidents.value = new Set(open.map(({ incidentId }) => incidentId)).size;
}

/** Starts the renewals of pages; the number in the menu is asked for with each. */
export function startFrame(): void {
  // A refusal is told by the page, and a silence by the frame.
  const ask = (): void => void countIncidents().catch(() => undefined);
  ask();
  startRenewals(ask);
}

/** Menu and bar of all pages. */
export function Header() {
  return (
    <header>
      <a class="brand" href={framed('/')}>
        spanscore
      </a>
      <MainMenu />
      <Bar />
    </header>
  );
}

function isCurrent(target: string): boolean {
  const current = path.value;
  return target === '/' ? current === '/' : current === target || current.startsWith(`${target}/`);
}

function PageLink({
  target,
  name,
  count = 0,
}: {
  readonly target: string;
  readonly name: string;
  readonly count?: number;
}) {
  return (
    <a href={framed(target)} aria-current={isCurrent(target) ? 'page' : undefined}>
      {name}
      {count > 0 && (
        <>
          {' '}
          <b class="bad">{count}</b>
        </>
      )}
    </a>
  );
}

function MainMenu() {
  return (
    <nav aria-label="Main">
      <ul>
        {MENU.map(({ path: target, name }) => (
          <li key={target}>
            <PageLink target={target} name={name} count={target === '/alerts' ? openIncidents.value : 0} />
          </li>
        ))}
        <li>
          <SetUp />
        </li>
      </ul>
    </nav>
  );
}

/** Menu of what is set up once: pages, theme, shortcuts, the way out. */
function SetUp() {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const current = path.value;
  useEffect(() => setOpen(false), [current]);
  useEffect(() => {
    const closeOutside = ({ target }: Event): void => {
      if (!(target instanceof Node && box.current?.contains(target) === true)) {
        setOpen(false);
      }
    };
    const closeByKey = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape' && box.current?.querySelector('[aria-expanded="true"]') !== null) {
        setOpen(false);
        box.current?.querySelector('button')?.focus();
      }
    };
    document.addEventListener('pointerdown', closeOutside);
    document.addEventListener('keydown', closeByKey);
    return () => {
      document.removeEventListener('pointerdown', closeOutside);
      document.removeEventListener('keydown', closeByKey);
    };
  }, []);
  return (
    <div ref={box} class="set-up">
      <button
        type="button"
        class={SET_UP.some((entry) => isCurrent(entry.path)) ? 'plain current' : 'plain'}
        aria-expanded={isOpen}
        aria-controls="set-up"
        onClick={() => setOpen(!isOpen)}
      >
        Set-up <span aria-hidden="true">▾</span>
      </button>
      <div id="set-up" class="menu" hidden={!isOpen}>
        <ul>
          {SET_UP.map(({ path: target, name }) => (
            <li key={target}>
              <PageLink target={target} name={name} />
            </li>
          ))}
        </ul>
        <ThemeChoice />
        <button type="button" onClick={() => (isHelpOpen.value = true)}>
          Keyboard shortcuts
        </button>
        <Account />
      </div>
    </div>
  );
}

function ThemeChoice() {
  const choose = (value: string): void => {
    theme.value = THEMES.find((name) => name === value) ?? 'auto';
  };
  return <Choice label="Theme" value={theme.value} choices={THEMES} onChoice={choose} />;
}

/** Name of the token that the reader has signed in with, and the way out. */
function Account() {
  const session = useRead('/session');
  useEffect(() => {
    if (session.kind === 'ready') {
      scopes.value = session.data.scopes;
    }
  }, [session]);
  if (isSignedOut.value || session.kind !== 'ready' || session.data.proof !== 'cookie') {
    return null;
  }
  const { token, tenant } = session.data;
  const signOut = async (): Promise<void> => {
    await write('DELETE /session', undefined);
    isSignedOut.value = true;
  };
  return (
    <span class="account">
      <span>
        {token}
        {tenant !== null && tenant !== '' && `, tenant ${tenant}`}
      </span>{' '}
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </span>
  );
}

/** Search, filters and freshness of all pages. */
function Bar() {
  const facets = useRead('/traces/facets', {
    query: { since: '30d', of: ['agent', 'environment', 'tenant'] },
    isOfAll: true,
  });
  const values = (name: 'agent' | 'environment' | 'tenant'): readonly (readonly [string, string])[] =>
    facets.kind === 'ready' ? facets.data[name].map(({ value }) => [value, value]) : [];
  const since = query.value.get('since') ?? defaultSince(path.value, query.value);
  const until = query.value.get('until');
  const tenant = query.value.get('tenant') ?? '';
  const tenants = values('tenant');
  return (
    <div class="bar-of-page">
      <Search />
      <FrameChoice
        name="agent"
        label="Agent"
        choices={[['', 'all agents'], ...values('agent')]}
        value={query.value.getAll('agent').join(', ')}
      />
      <FrameChoice
        name="environment"
        label="Environment"
        choices={[['', 'all environments'], ...values('environment')]}
        value={query.value.getAll('environment').join(', ')}
      />
      {(tenants.length > 1 || tenant !== '') && (
        <FrameChoice
          name="tenant"
          label="Tenant"
          choices={[['', 'all tenants'], ...tenants]}
          value={tenant}
        />
      )}
      <FrameChoice
        name="since"
        label="Time range"
        choices={TIME_RANGES}
        value={until === null ? since : `${since.slice(0, 10)} to ${until.slice(0, 10)}`}
      />
      <Freshness />
    </div>
  );
}

function Search() {
  const text = query.value.get('q') ?? '';
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.querySelector('input');
        if (field !== null && field.value.trim() !== '') {
          field.blur();
          push(BASE_PATH + keepFrame(searchPath(field.value), query.peek()));
        }
      }}
    >
      <input
        key={text}
        type="search"
        aria-label="Search"
        placeholder="Search trace, user, text …"
        defaultValue={text}
        autocomplete="off"
      />
    </form>
  );
}

interface FrameChoiceProps {
  readonly name: string;
  readonly label: string;
  readonly choices: readonly (readonly [value: string, name: string])[];
  readonly value: string;
}

function FrameChoice({ name, ...choice }: FrameChoiceProps) {
  return <Choice {...choice} isLabelHidden onChoice={(value) => adjustQuery(chooseInFrame(name, value))} />;
}

/** Age of what is shown. */
function Freshness() {
  const ageMs = Math.max(nowMs.value - answeredAtMs.value, 0);
  const sign = isServerGone.value ? '✗' : isPaused.value ? '‖' : '●';
  return (
    <span
      role="status"
      aria-label="Freshness"
      aria-live="off"
      class={`freshness ${isServerGone.value ? 'bad' : 'good'}`}
    >
      <span aria-hidden="true">{sign}</span> {formatDuration(Math.round(ageMs / 1_000) * 1_000 || 1_000)} ago
    </span>
  );
}

/** Says that the server is gone, above a page that shows what it last got. */
export function Gone() {
  return isServerGone.value ? (
    <div role="alert" class="state problem">
      There is no answer from the server. The page shows what came last, and asks again by itself.
    </div>
  ) : null;
}
