import { Page } from '../parts/page.tsx';

/** Page of an address without a page. */
export function NoPage() {
  return (
    <Page title="No such page">
      <p>
        There is no page at this address. Go to the <a href="/">overview</a>.
      </p>
    </Page>
  );
}
