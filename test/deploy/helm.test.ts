// The Helm chart, linted and rendered over the three values files of deploy/helm/ci, with a real helm: the one in the PATH, or the
// one that .ci/helm builds. Needs no cluster.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { postern } from '../world/terminal.ts';
import { execForm, parseDockerfile, textsOf } from './dockerfile.ts';
import { tempFolder } from '../world/temp-folder.ts';

const CHART = 'deploy/helm';
/** A helm that is built from its module assumes an old Kubernetes by default. */
const KUBERNETES = ['--kube-version', '1.31.0'];

type Mount = { readonly name: string; readonly mountPath: string };
type Source = { readonly secret?: { readonly name: string; readonly items?: readonly { path: string }[] } };
type Volume = {
  readonly name: string;
  readonly projected?: { defaultMode: number; sources: readonly Source[] };
};
type Probe = { readonly httpGet: { readonly path: string; readonly port: string } };
type Container = Record<'startupProbe' | 'readinessProbe' | 'livenessProbe', Probe> & {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: unknown;
  readonly volumeMounts: readonly Mount[];
};
type Pod = {
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: unknown;
  readonly containers: readonly [Container];
  readonly volumes: readonly Volume[];
};
type Labels = Readonly<Record<string, string>>;
type Rendered = {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Labels };
  readonly data: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas: number;
    readonly strategy: { readonly type: string };
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod };
    readonly selector: Labels & { readonly matchLabels: Labels };
    readonly podSelector: { readonly matchLabels: Labels };
    readonly ingress: unknown;
    readonly egress: unknown;
    readonly rules: readonly { host: string; http: { paths: readonly { path: string }[] } }[];
  };
};
type Configuration = {
  readonly issuer: string;
  readonly store: string;
  readonly listen: { readonly port: number };
  readonly management: { readonly port: number };
};

const run = promisify(execFile);

async function findHelm(): Promise<string | undefined> {
  const goPath = process.env['GOPATH'] ?? path.join(homedir(), 'go');
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), path.join(goPath, 'bin')];
  return folders.map((folder) => path.join(folder, 'helm')).find((file) => existsSync(file));
}

const helm = await findHelm();
if (helm === undefined)
  process.stderr.write('NOT DONE: there is no helm, so the chart is not rendered; .ci/helm makes one\n');

async function render(values: string, ...more: readonly string[]): Promise<readonly Rendered[]> {
  const file = `${CHART}/ci/${values}-values.yaml`;
  const { stdout } = await run(helm ?? '', ['template', 'idp', CHART, ...KUBERNETES, '-f', file, ...more]);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Rendered);
}

function only(rendered: readonly Rendered[], kind: string): Rendered {
  const [found, ...others] = rendered.filter((one) => one.kind === kind);
  if (found === undefined || others.length > 0) throw new Error(`not one ${kind}`);
  return found;
}

const configurationOf = (rendered: readonly Rendered[]): string =>
  only(rendered, 'ConfigMap').data['postern.yaml'] ?? '';

const folder = tempFolder();

it('the chart has the version of the package', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  expect(parse(await readFile(`${CHART}/Chart.yaml`, 'utf8'))).toMatchObject({
    version,
    appVersion: version,
  });
});

describe.skipIf(helm === undefined)('the Helm chart', () => {
  it('has no complaint from helm lint, and refuses a misspelt value', async () => {
    const lint = (values: string, ...more: readonly string[]) =>
      run(helm ?? '', ['lint', '--strict', CHART, ...KUBERNETES, '-f', `${CHART}/ci/${values}`, ...more]);
    const files = await readdir(`${CHART}/ci`);
    expect(files).toHaveLength(3);
    for (const file of files) await lint(file);
    await expect(lint('embedded-values.yaml', '--set', 'replica=2')).rejects.toMatchObject({
      stdout: expect.stringContaining("'replica' not allowed") as unknown,
    });
  });

  it.each(['embedded', 'redis', 'everything'])('%s: is valid and mounts what it names', async (values) => {
    const rendered = await render(values);
    const text = configurationOf(rendered);
    const own = path.join(folder, values);
    await mkdir(path.join(own, 'views'), { recursive: true });
    await writeFile(path.join(own, 'users.yaml'), '[]\n');
    await writeFile(
      path.join(own, 'postern.yaml'),
      text.replace('/etc/postern-views', path.join(own, 'views')),
    );
    const { code, stderr } = await postern([
      'check',
      '--no-secrets',
      '--config',
      path.join(own, 'postern.yaml'),
    ]);
    expect([code, stderr]).toEqual([0, '']);

    const { spec: pod } = only(rendered, 'Deployment').spec.template;
    const [container] = pod.containers;
    const names = container.volumeMounts.map(({ name }) => name);
    expect(pod.volumes.map(({ name }) => name).toSorted((a, b) => a.localeCompare(b))).toEqual(
      names.toSorted((a, b) => a.localeCompare(b)),
    );
    const mounted = container.volumeMounts.map(({ mountPath }) => mountPath);
    expect(mounted).toEqual(expect.arrayContaining(['/etc/postern', '/var/lib/postern', '/tmp']));
    const paths = [...text.matchAll(/(?:file:|lmdb:|views: )(\/\S+)/g)].map(([, name = '']) => name);
    for (const name of paths)
      expect(
        mounted.some((place) => name === place || path.dirname(name) === place),
        name,
      ).toBe(true);
    for (const { projected } of pod.volumes) expect(projected?.defaultMode ?? 0o440).toBe(0o440);
    const projected = pod.volumes.flatMap((volume) => volume.projected?.sources ?? []);
    const items = projected.flatMap(({ secret }) => secret?.items?.map((item) => item.path) ?? []);
    expect(items.includes('redis.url')).toBe(text.includes('store: file:/run/postern/secrets/redis.url'));
    expect(items.includes('users.yaml')).toBe(text.includes('users_from: users.yaml'));
  });

  it.each(['embedded', 'redis', 'everything'])('%s: runs unprivileged in the built image', async (values) => {
    const rendered = await render(values);
    const [user = '', group = ''] = textsOf(await lastStage(), 'USER')[0]?.split(':') ?? [];
    const { spec: pod } = only(rendered, 'Deployment').spec.template;
    const [container] = pod.containers;
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: Number(user),
      runAsGroup: Number(group),
      fsGroup: Number(group),
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.image).toMatch(/postern:0\.2\.0$/);
    const configuration = parse(configurationOf(rendered)) as Configuration;
    expect(
      Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort])),
    ).toEqual({ http: configuration.listen.port, management: configuration.management.port });
  });

  it('asks probes of paths that the management listener answers', async () => {
    const [container] = only(await render('embedded'), 'Deployment').spec.template.spec.containers;
    const { startupProbe, readinessProbe, livenessProbe } = container;
    const asked = [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => httpGet.path);
    expect(asked).toEqual(['/readyz', '/healthz', '/healthz']);
    for (const { httpGet } of [startupProbe, readinessProbe, livenessProbe])
      expect(httpGet.port).toBe('management');
  });

  it('gives one replica the volume to itself, and several a budget and no volume', async () => {
    const kinds = async (values: string) => (await render(values)).map(({ kind }) => kind);
    expect(await kinds('embedded')).toContain('PersistentVolumeClaim');
    expect(await kinds('embedded')).not.toContain('PodDisruptionBudget');
    expect(await kinds('redis')).toContain('PodDisruptionBudget');
    expect(await kinds('redis')).not.toContain('PersistentVolumeClaim');
    expect(only(await render('embedded'), 'Deployment').spec.strategy.type).toBe('Recreate');
  });

  it('lets in whom the values name, and no one at the management port but Prometheus', async () => {
    const ingress = async (values: string) => only(await render(values), 'NetworkPolicy').spec.ingress;
    const namespace = (name: string) => ({
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
    });
    expect(await ingress('embedded')).toEqual([{ ports: [{ port: 'http' }] }]);
    expect(await ingress('everything')).toEqual([
      { ports: [{ port: 'http' }], from: [namespace('ingress-nginx')] },
      { ports: [{ port: 'management' }], from: [namespace('monitoring')] },
    ]);
  });

  it('lets requests out to the internet, and to no private address, where documents of clients are asked for', async () => {
    const egress = async (...more: readonly string[]) =>
      JSON.stringify(only(await render('embedded', ...more), 'NetworkPolicy').spec.egress);
    expect(await egress()).not.toContain('443');
    const documents = JSON.stringify({ hosts: ['claude.ai'], scope: 'openid' });
    const out = await egress('--set-json', `config.client_documents=${documents}`);
    expect(out).toContain('"ports":[{"port":443}]');
    for (const network of ['10.0.0.0/8', '169.254.0.0/16']) expect(out).toContain(network);
  });

  it('sends the paths of an issuer with a path to the service, and those that discovery needs', async () => {
    const rules = async (values: string) =>
      only(await render(values), 'Ingress').spec.rules.map(({ host, http }) => [
        host,
        http.paths.map((one) => one.path),
      ]);
    expect(await rules('redis')).toEqual([['id.example.com', ['/']]]);
    expect(await rules('everything')).toEqual([
      [
        'example.com',
        ['/auth', '/.well-known/openid-configuration/auth', '/.well-known/oauth-authorization-server/auth'],
      ],
    ]);
  });

  it.each([
    ['no issuer', ['--set', 'issuer='], /issuer: say the public address/],
    ['http', ['--set', 'issuer=http://id.example.com'], /issuer/],
    ['two processes on one volume', ['--set', 'replicas=2'], /needs redis\.existingSecret/],
    ['a key that follows from values', ['--set', 'config.store=lmdb:/x'], /config\.store: this key/],
    ['metrics that no one may read', ['--set', 'serviceMonitor.enabled=true'], /metricsFrom/],
  ])('refuses %s', async (_, more, message) => {
    await expect(render('embedded', ...more)).rejects.toThrow(message);
  });
});

async function lastStage() {
  const stage = parseDockerfile(await readFile('deploy/Dockerfile', 'utf8')).at(-1);
  if (stage === undefined) throw new Error('no stage');
  expect(execForm(textsOf(stage, 'CMD')[0] ?? '')).toEqual(['serve']);
  return stage;
}
