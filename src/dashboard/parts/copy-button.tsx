import { useState } from 'preact/hooks';
import { visibleText } from '../view-models/visible-text.ts';

/** Button that copies a text to the clipboard and says so. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [outcome, setOutcome] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('Copied.');
    } catch {
      setOutcome('The browser does not allow to copy; select the text instead.');
    }
  };
  return (
    <span class="copy">
      <button type="button" onClick={() => void copy()}>
        Copy<span class="unseen"> {visibleText(what)}</span>
      </button>{' '}
      <span role="status">{outcome}</span>
    </span>
  );
}
