import { useEffect, useRef, useState } from 'preact/hooks';
import { write } from '../client.ts';
import { useOrders } from '../orders.tsx';
import { mayUse } from '../session.ts';
import type { Mute as StoredMute } from '../view-models/incidents.ts';
import { visibleText } from '../view-models/visible-text.ts';
import { Text, Time } from './text.tsx';

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
  const { outcome, order } = useOrders(onDone);
  const box = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    box.current?.querySelector<HTMLElement>(state === 'menu' ? '[role="menuitem"]' : 'input')?.focus();
  }, [state]);
  const close = (): void => {
    setState('closed');
    box.current?.querySelector('button')?.focus();
  };
  const mute = (time: string, reason?: string): void => {
    close();
    order(() => write('POST /mutes', { subject, for: time, ...(reason ? { reason } : {}) }), 'Muted.');
  };
  if (!mayUse('admin')) {
    return null;
  }
  return (
    <span ref={box} class="mute">
      <button
        type="button"
        aria-haspopup="menu"
        aria-expanded={state === 'menu'}
        onClick={() => setState(state === 'closed' ? 'menu' : 'closed')}
      >
        Mute<span class="unseen"> {visibleText(name)}</span> <span aria-hidden="true">▾</span>
      </button>
      {state === 'menu' && <MuteMenu onMute={mute} onOther={() => setState('form')} onClose={close} />}
      {state === 'form' && <MuteForm onMute={mute} />}
      {outcome}
    </span>
  );
}

interface MuteMenuProps {
  readonly onMute: (time: string) => void;
  readonly onOther: () => void;
  readonly onClose: () => void;
}

function MuteMenu({ onMute, onOther, onClose }: MuteMenuProps) {
  return (
    <div
      role="menu"
      class="menu"
      aria-label="Mute for"
      tabIndex={-1}
      onKeyDown={(event) => (event.key === 'Escape' ? onClose() : moveInMenu(event))}
    >
      {TIMES.map(([time, text]) => (
        <button key={time} type="button" role="menuitem" onClick={() => onMute(time)}>
          {text}
        </button>
      ))}
      <button type="button" role="menuitem" onClick={onOther}>
        Other …
      </button>
    </div>
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

function MuteForm({ onMute }: { readonly onMute: (time: string, reason: string) => void }) {
  return (
    <form
      class="menu"
      onSubmit={(event) => {
        event.preventDefault();
        const read = (name: string): string => {
          const value = new FormData(event.currentTarget).get(name);
          return typeof value === 'string' ? value.trim() : '';
        };
        onMute(read('for'), read('reason'));
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

/** Person, end and reason of a mute, in a line about what it mutes. */
export function MuteNote({ mute: { by, until, reason } }: { readonly mute: StoredMute }) {
  return (
    <>
      <Text of={by ? `muted by ${by}` : 'muted'} /> until <Time at={until} />
      {reason !== '' && <Text of={` (${reason})`} />}
    </>
  );
}
