import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { visibleText } from '../view-models/visible-text.ts';

/** Button that copies a text to the clipboard and says so. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <Copy read={() => text}>
      Copy<span class="unseen"> {visibleText(what)}</span>
    </Copy>
  );
}

/** Button that copies the address of the page with all of its choices. */
export function CopyLink() {
  return <Copy read={() => location.href}>Copy link</Copy>;
}

function Copy({ read, children }: { readonly read: () => string; readonly children: ComponentChildren }) {
  const [outcome, setOutcome] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(read());
      setOutcome('Copied.');
    } catch {
      setOutcome('The browser does not allow to copy; select the text, or the address, instead.');
    }
  };
  return (
    <span class="copy">
      <button type="button" onClick={() => void copy()}>
        {children}
      </button>{' '}
      <span role="status">{outcome}</span>
    </span>
  );
}
