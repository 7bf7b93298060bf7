// A request with exactly the given parts, and its answer. wire.ts sends what fetch would correct or refuse.
import type { World } from './world.ts';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
  readonly text: string;
};

/** Parameters of a form or a query; undefined removes one. */
export type Parameters = Readonly<Record<string, string | undefined>>;

export function toQuery(parameters: Parameters): string {
  const present = Object.entries(parameters).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  return new URLSearchParams(present).toString();
}

/** Options of fetch for a form post. */
export function formPost(form: Parameters | string, headers: Readonly<Record<string, string>> = {}) {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof form === 'string' ? form : toQuery(form),
  };
}

/** Posts a form to an endpoint of the service. */
export async function post(
  world: Pick<World, 'base'>,
  path: string,
  form: Parameters | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const init = { ...formPost(form, headers), redirect: 'manual' } as const;
  return toAnswer(await fetch(`${world.base}${path}`, init));
}

export async function get(
  world: Pick<World, 'base'>,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return toAnswer(await fetch(`${world.base}${path}`, { headers, redirect: 'manual' }));
}

async function toAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  let body: Record<string, unknown> = {};
  if (response.headers.get('content-type')?.includes('json'))
    body = JSON.parse(text) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body, text };
}

/** The answer of `/readyz`. */
export async function readiness(node: Pick<World, 'management'>) {
  const response = await fetch(`${node.management}/readyz`);
  const { problems } = (await response.json()) as { problems: readonly string[] };
  return { status: response.status, problems };
}

/** A member of the answer that must be text; throws if it isn't. */
export function textOf(answer: Answer, member: string): string {
  const value = answer.body[member];
  if (typeof value !== 'string') throw new Error(`no ${member} in ${answer.status} ${answer.text}`);
  return value;
}
