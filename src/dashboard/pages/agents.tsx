import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { AgentsTable } from '../parts/quality.tsx';
import { useRead } from '../resource.ts';
import { frame } from '../router.ts';

/** Agents as rows with their qualities, costs and errors. */
export function Agents() {
  const filters = frame.value;
  const agents = useRead('/agents', { query: filters });
  return (
    <Page title="Agents">
      <Loaded
        of={agents}
        what="the agents"
        empty={
          <p>
            No agent has run in this time. Choose a longer range, or <a href="/welcome">connect an agent</a>.
          </p>
        }
      >
        {({ items }) => (
          <section class="card">
            <AgentsTable caption="Agents" agents={items} />
            <p class="small quiet">
              Pass rate of each quality, against the 14 days before. A coloured cell is a change that chance
              does not explain.
            </p>
          </section>
        )}
      </Loaded>
    </Page>
  );
}
