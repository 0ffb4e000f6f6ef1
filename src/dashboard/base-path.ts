import { options } from 'preact';

const script = import.meta.url;

/** Path that a proxy adds before all paths, without a slash at its end: the scripts are in its folder `assets`. */
export const BASE_PATH = new URL('..', script).pathname.slice(0, -1);

/** Puts all links to pages below the path of the proxy: their paths begin with a slash. */
export function placeLinks(): void {
  options.vnode = (vnode) => {
    const props = vnode.props as { href?: string };
    if (vnode.type === 'a' && props.href?.startsWith('/') === true) {
      props.href = BASE_PATH + props.href;
    }
  };
}
