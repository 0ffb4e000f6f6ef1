import { options } from 'preact';

const script = import.meta.url;

/** Path that a proxy adds before all paths, without a slash at its end: the scripts are in its folder `assets`. */
export const BASE_PATH = new URL('..', script).pathname.slice(0, -1);

/**
 * Puts all links to pages below the path of the proxy: their paths begin with a slash. Fixes the address of the icon, which a browser
 * reads anew relative to each page that it goes to.
 */
export function placeLinks(): void {
  for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel="icon"]')) {
    link.setAttribute('href', link.href);
  }
  options.vnode = (vnode) => {
    const props = vnode.props as { href?: string };
    if (vnode.type === 'a' && props.href?.startsWith('/') === true) {
      props.href = BASE_PATH + props.href;
    }
  };
}
