// Three nodes of one service on one Redis, each a separate process with its own file, as on three machines. Their
// limits are wide, so that a run under load never gets 429.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { post } from '../world/requests.ts';
import { basic, clientCredentials } from '../world/token-endpoint.ts';
import { GENEROUS, type World, type WorldOptions, writeWorldConfig } from '../world/world.ts';
import { untilTrue } from '../world/redis-groups.ts';
import { type ServiceProcess, startProcess } from '../world/process.ts';

const NODES = 3;
/** Number of users: a single user who signs in with this many browsers at once would have to wait. */
export const CROWD = 64;

/** The command that starts a version of the service: `[node, main.js]`. */
export type Command = readonly string[];
export type FleetNode = { readonly world: World; process: ServiceProcess };
export type Fleet = {
  readonly issuer: string;
  readonly nodes: readonly FleetNode[];
  readonly worlds: readonly World[];
  /** Ends the node with the signal and starts it again, with `command` in place of this version if given. */
  restart(node: FleetNode, signal: NodeJS.Signals, command?: Command): Promise<void>;
  /** Milliseconds until every node has repeated a request that needs all of its store; throws after 15 s. */
  untilBack(after: string): Promise<number>;
  stop(): Promise<void>;
};

/** `commandOf` returns the command for a node, in place of this version; `more` is merged over its file. */
export async function startFleet(
  store: string,
  commandOf: (index: number) => Command | undefined = () => undefined,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Fleet> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-fleet-'));
  const nodes: FleetNode[] = [];
  let issuer: string | undefined;
  for (let index = 0; index < NODES; index += 1) {
    const own = await mkdtemp(path.join(folder, 'node-'));
    const options: WorldOptions = {
      store,
      crowd: CROWD,
      config: { ...GENEROUS, ...more },
      ...(issuer && { issuer }),
    };
    const world = await writeWorldConfig(own, options);
    issuer = world.issuer;
    nodes.push({ world, process: await startProcess(world.configFile, commandOf(index)) });
  }
  return {
    issuer: issuer ?? '',
    nodes,
    worlds: nodes.map(({ world }) => world),
    async restart(node, signal, other) {
      await node.process.end(signal);
      node.process = await startProcess(node.world.configFile, other);
    },
    async untilBack(after) {
      const began = performance.now();
      await Promise.all(
        nodes.map(({ world }, index) =>
          untilTrue(`node ${index} is back after: ${after}`, () => revokesItsOwn(world)),
        ),
      );
      return Math.round(performance.now() - began);
    },
    async stop() {
      await Promise.all(nodes.map(({ process: running }) => running.end('SIGKILL')));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whether it reads, writes, and gets the write confirmed by a replica if there is one. */
async function revokesItsOwn(world: World): Promise<boolean> {
  const { body } = await clientCredentials(world);
  const form = { token: String(body['access_token']) };
  return (await post(world, '/oauth/revoke', form, { authorization: basic('svc') })).status === 200;
}
