import { useEffect, useRef, useState } from 'preact/hooks';
import { ProblemError, write } from '../client.ts';
import { mayUse } from '../session.ts';
import { visibleText } from '../view-models/visible-text.ts';

const TIMES = [
  ['1h', '1 hour'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
] as const;

interface MuteProps {
  /** Incident, series or alert that is muted. */
  readonly subject: string;
  readonly name: string;
  /** Called after the mute is stored. */
  readonly onDone: () => void;
}

/** Button that mutes for a time of its menu, or for another one with its reason. */
export function Mute({ subject, name, onDone }: MuteProps) {
  const [state, setState] = useState<'closed' | 'menu' | 'form'>('closed');
  const [outcome, setOutcome] = useState('');
  const box = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    box.current?.querySelector<HTMLElement>(state === 'menu' ? '[role="menuitem"]' : 'input')?.focus();
  }, [state]);
  const close = (): void => {
    setState('closed');
    box.current?.querySelector('button')?.focus();
  };
  const mute = async (time: string, reason?: string): Promise<void> => {
    close();
    try {
      await write('POST /mutes', { subject, for: time, ...(reason ? { reason } : {}) });
      setOutcome('Muted.');
      onDone();
    } catch (error) {
      setOutcome(error instanceof ProblemError ? `Not muted: ${error.problem.detail}` : String(error));
    }
  };
  if (!mayUse('admin')) {
    return null;
  }
  return (
    <span
      ref={box}
      class="mute"
      onKeyDown={(event) => {
        if (event.key === 'Escape' && state !== 'closed') {
          close();
        } else if (state === 'menu') {
          moveInMenu(event);
        }
      }}
    >
      <button
        type="button"
        aria-haspopup="menu"
        aria-expanded={state === 'menu'}
        onClick={() => setState(state === 'closed' ? 'menu' : 'closed')}
      >
        Mute<span class="unseen"> {visibleText(name)}</span> <span aria-hidden="true">▾</span>
      </button>
      {state === 'menu' && (
        <div role="menu" class="menu" aria-label="Mute for">
          {TIMES.map(([time, text]) => (
            <button key={time} type="button" role="menuitem" onClick={() => void mute(time)}>
              {text}
            </button>
          ))}
          <button type="button" role="menuitem" onClick={() => setState('form')}>
            Other …
          </button>
        </div>
      )}
      {state === 'form' && <MuteForm onMute={mute} />}
      <span role="status">{visibleText(outcome)}</span>
    </span>
  );
}

function moveInMenu(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step !== undefined && event.currentTarget instanceof Element) {
    event.preventDefault();
    const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="menuitem"]')];
    const next = items.indexOf(document.activeElement as HTMLElement) + step;
    items[(next + items.length) % items.length]?.focus();
  }
}

function MuteForm({ onMute }: { readonly onMute: (time: string, reason: string) => Promise<void> }) {
  return (
    <form
      class="menu"
      onSubmit={(event) => {
        event.preventDefault();
        const fields = new FormData(event.currentTarget);
        void onMute(String(fields.get('for')).trim(), String(fields.get('reason')).trim());
      }}
    >
      <label>
        For <input name="for" required pattern="\d+(m|h|d)" placeholder="30m, 2h, 7d" />
      </label>
      <label>
        Reason <input name="reason" maxLength={500} />
      </label>
      <button type="submit">Mute</button>
    </form>
  );
}
