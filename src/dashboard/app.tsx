import type { FunctionComponent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { PagePath } from '../api/dashboard/page-paths.ts';
import { Gone, Header } from './frame.tsx';
import { isHelpOpen } from './keyboard.ts';
import { Agent } from './pages/agent.tsx';
import { Agents } from './pages/agents.tsx';
import { Alerts } from './pages/alerts.tsx';
import { Backfills } from './pages/backfills.tsx';
import { Compare } from './pages/compare.tsx';
import { Coverage } from './pages/coverage.tsx';
import { Incident } from './pages/incident.tsx';
import { Issue } from './pages/issue.tsx';
import { Issues } from './pages/issues.tsx';
import { Judges } from './pages/judges.tsx';
import { Home } from './pages/home.tsx';
import { Review } from './pages/review.tsx';
import { Rules } from './pages/rules.tsx';
import { Scorer } from './pages/scorer.tsx';
import { Sessions } from './pages/sessions.tsx';
import { Session } from './pages/session.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { Status } from './pages/status.tsx';
import { Trace } from './pages/trace.tsx';
import { Traces } from './pages/traces.tsx';
import { Welcome } from './pages/welcome.tsx';
import { path, place } from './router.ts';
import { isSignedOut } from './session.ts';
import { SHORTCUTS } from './view-models/shortcuts.ts';
import { Page } from './parts/page.tsx';

/** The page of each path. */
const PAGES: Readonly<Record<PagePath, FunctionComponent>> = {
  '/': Home,
  '/welcome': Welcome,
  '/agents': Agents,
  '/agents/:agent': Agent,
  '/issues': Issues,
  '/issues/:issueId': Issue,
  '/traces': Traces,
  '/traces/:traceId': Trace,
  '/scores/:scorer': Scorer,
  '/sessions': Sessions,
  '/sessions/:sessionId': Session,
  '/coverage': Coverage,
  '/alerts': Alerts,
  '/alerts/:incidentId': Incident,
  '/judges': Judges,
  '/rules': Rules,
  '/compare': Compare,
  '/labels': Review,
  '/review': Review,
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
        <Gone />
        {isSignedOut.value ? <SignIn /> : <Shown key={path.value} />}
      </main>
      <Shortcuts />
    </>
  );
}

/** Page of an address without a page. */
function NoPage() {
  return (
    <Page title="No such page">
      <p>
        There is no page at this address. Go <a href="/">Home</a>.
      </p>
    </Page>
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
