import { useEffect, useRef } from 'preact/hooks';
import { isHelpOpen } from '../keyboard.ts';
import { SHORTCUTS } from '../view-models/shortcuts.ts';

/** List of all shortcuts, as a dialog. */
export function Shortcuts() {
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
