import type { FunctionComponent } from 'preact';
import { useState, useEffect, useRef } from 'preact/hooks';
import type { PagePath } from '../api/dashboard/page-paths.ts';
import { isHelpOpen } from './keyboard.ts';
import { Alerts } from './pages/alerts.tsx';
import { Backfills } from './pages/backfills.tsx';
import { Compare } from './pages/compare.tsx';
import { Coverage } from './pages/coverage.tsx';
import { Judges } from './pages/judges.tsx';
import { Labels } from './pages/labels.tsx';
import { Overview } from './pages/overview.tsx';
import { Rules } from './pages/rules.tsx';
import { Scorer } from './pages/scorer.tsx';
import { Session } from './pages/session.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { Status } from './pages/status.tsx';
import { Trace } from './pages/trace.tsx';
import { Traces } from './pages/traces.tsx';
import { Welcome } from './pages/welcome.tsx';
import { path, place } from './router.ts';
import { isSignedOut } from './session.ts';
import { theme, THEMES } from './theme.ts';
import { MENU, SHORTCUTS } from './view-models/shortcuts.ts';
import { Page } from './parts/page.tsx';
import { read, write } from './client.ts';
import { useResource } from './resource.ts';

/** The page of each path. */
const PAGES: Readonly<Record<PagePath, FunctionComponent>> = {
  '/': Overview,
  '/welcome': Welcome,
  '/traces': Traces,
  '/traces/:traceId': Trace,
  '/scores/:scorer': Scorer,
  '/sessions/:sessionId': Session,
  '/coverage': Coverage,
  '/alerts': Alerts,
  '/judges': Judges,
  '/rules': Rules,
  '/compare': Compare,
  '/labels': Labels,
  '/backfills': Backfills,
  '/status': Status,
};

/** The dashboard: menu, page, shortcuts. */
export function App() {
  const Shown = place.value === undefined ? NoPage : PAGES[place.value.page];
  return (
    <>
      <a class="skip" href="#page">
        Skip to the page
      </a>
      <Header />
      <main id="page" tabIndex={-1}>
        {isSignedOut.value ? <SignIn /> : <Shown key={path.value} />}
      </main>
      <Shortcuts />
    </>
  );
}

function Header() {
  const [isOpen, setOpen] = useState(false);
  const current = path.value;
  return (
    <header>
      <a class="brand" href="/">
        spanscore
      </a>
      <button
        type="button"
        class="menu-button"
        aria-expanded={isOpen}
        aria-controls="menu"
        onClick={() => setOpen(!isOpen)}
      >
        Menu
      </button>
      <nav id="menu" aria-label="Pages" class={isOpen ? 'open' : undefined}>
        <ul>
          {MENU.map(({ path: target, name }) => (
            <li key={target}>
              <a
                href={target}
                aria-current={isCurrent(target, current) ? 'page' : undefined}
                onClick={() => setOpen(false)}
              >
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="tools">
        <label>
          <span class="unseen">Theme</span>
          <select
            value={theme.value}
            onChange={({ currentTarget }) => {
              theme.value = THEMES.find((name) => name === currentTarget.value) ?? 'auto';
            }}
          >
            {THEMES.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="button" aria-label="Keyboard shortcuts" onClick={() => (isHelpOpen.value = true)}>
          ?
        </button>
        <Account />
      </div>
    </header>
  );
}

function isCurrent(target: string, current: string): boolean {
  return target === '/' ? current === '/' : current === target || current.startsWith(`${target}/`);
}

/** Page of an address without a page. */
function NoPage() {
  return (
    <Page title="No such page">
      <p>
        There is no page at this address. Go to the <a href="/">overview</a>.
      </p>
    </Page>
  );
}

/** Name of the token that the reader has signed in with, and the way out. */
function Account() {
  const session = useResource('session', (signal) => read('/session', { signal }));
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

/** List of all shortcuts, as a dialog. */
function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = isHelpOpen.value;
  useEffect(() => {
    if (isOpen) {
      dialog.current?.showModal();
    }
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-labelledby="shortcuts-title" onClose={() => (isHelpOpen.value = false)}>
      <h2 id="shortcuts-title">Keyboard shortcuts</h2>
      <dl class="keys">
        {SHORTCUTS.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
