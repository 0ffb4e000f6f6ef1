import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface PageProps {
  readonly title: string;
  /** One sentence under the title. */
  readonly lead?: ComponentChildren;
  /** True for a page whose first words say more than its title. */
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
      <h1 ref={heading} tabIndex={-1} class={isTitleHidden ? 'unseen' : undefined}>
        {title}
      </h1>
      {lead !== undefined && <p class="lead">{lead}</p>}
      {children}
    </>
  );
}
