import type { Post, PostReply, PostRequest } from '../../../src/outbound/http/guarded-post.ts';

/** A way to post that leads nowhere: it records, and answers with a status. */
export function recordedPost(answer: (request: PostRequest) => number | Partial<PostReply> = () => 200) {
  const requests: PostRequest[] = [];
  const post: Post = async (request) => {
    requests.push(request);
    const reply = answer(request);
    const given = typeof reply === 'number' ? { status: reply } : reply;
    return { status: 200, retryAfterMs: undefined, text: '', ...given };
  };
  return { requests, post };
}
