// A request by hand, with nothing added, and its answer. wire.ts sends what fetch would put right or refuse.
import type { World } from './world.ts';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
  readonly text: string;
};

/** Of a form or a query; undefined takes a parameter away. */
export type Parameters = Readonly<Record<string, string | undefined>>;

export function toQuery(parameters: Parameters): string {
  const present = Object.entries(parameters).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  return new URLSearchParams(present).toString();
}

/** What fetch sends a form with. */
export function formPost(form: Parameters | string, headers: Readonly<Record<string, string>> = {}) {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof form === 'string' ? form : toQuery(form),
  };
}

/** A form post to an endpoint of the service. */
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

/** What `/readyz` says. */
export async function readiness(node: Pick<World, 'management'>) {
  const response = await fetch(`${node.management}/readyz`);
  const { problems } = (await response.json()) as { problems: readonly string[] };
  return { status: response.status, problems };
}

/** A member of an answer that must be text. */
export function textOf(answer: Answer, member: string): string {
  const value = answer.body[member];
  if (typeof value !== 'string') throw new Error(`no ${member} in ${answer.status} ${answer.text}`);
  return value;
}
