import type { Post, PostReply, PostRequest } from '../../../src/delivery/http/guarded-post.ts';

/** Creates a fake of the HTTP post. Records the requests, sends nothing, and returns the status of `answer`. */
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
