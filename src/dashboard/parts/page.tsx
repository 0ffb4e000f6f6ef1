import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { CopyLink } from './copy-button.tsx';

interface PageProps {
  readonly title: string;
  /** One sentence under the title. */
  readonly lead?: ComponentChildren;
  /** True for a page whose first words say more than its title: it has a place of its own for the link to copy. */
  readonly isTitleHidden?: boolean;
  readonly children: ComponentChildren;
}

/** A page with its title, which gets the focus, so that a screen reader begins here. */
export function Page({ title, lead, isTitleHidden = false, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · spanscore`;
  }, [title]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <div class={isTitleHidden ? 'unseen' : 'row between page-head'}>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {!isTitleHidden && <CopyLink />}
      </div>
      {lead !== undefined && <p class="lead">{lead}</p>}
      {children}
    </>
  );
}
