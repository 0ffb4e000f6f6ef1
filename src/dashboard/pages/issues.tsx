import { Page } from '../parts/page.tsx';

/** Kinds of failures that answers share. None is found yet, so the page says where failures stand. */
export function Issues() {
  return (
    <Page title="Issues">
      <p>
        There are no issues. The worst answers are in <a href="/traces?order=worst">Traces</a>, and what got
        worse is in <a href="/alerts">Alerts</a>.
      </p>
    </Page>
  );
}
