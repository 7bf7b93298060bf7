// The floor: the minimum cost of a machine token on node:http. It parses the body, compares the secret, and creates one signature;
// it limits, counts, logs and checks nothing else. It signs on its single thread, which costs least CPU.
import { createHash, generateKeyPairSync, randomBytes, sign, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { RESOURCE, SECRET } from '../names.ts';

const [port = '0'] = process.argv.slice(2);
const iss = `http://127.0.0.1:${port}`;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const digest = (text: string) => createHash('sha256').update(text).digest();
const secrets = new Map([['bench', digest(SECRET)]]);
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const header = encode({ alg: 'RS256', typ: 'at+jwt', kid: 'floor' });

function tokenFor(client_id: string, scope: string | null): string {
  const iat = Math.floor(Date.now() / 1000);
  const jti = randomBytes(32).toString('base64url');
  const claims = { iss, sub: client_id, aud: RESOURCE, exp: iat + 600, iat, jti, client_id, scope };
  const data = `${header}.${encode(claims)}`;
  return `${data}.${sign('sha256', Buffer.from(data), privateKey).toString('base64url')}`;
}

createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    const form = new URLSearchParams(text);
    const [id = '', secret = ''] = atob(request.headers.authorization?.slice('Basic '.length) ?? '').split(
      ':',
    );
    const known = secrets.get(id);
    const isRight = known !== undefined && timingSafeEqual(known, digest(secret));
    const isAsked = form.get('grant_type') === 'client_credentials';
    const scope = form.get('scope');
    const body = JSON.stringify(
      isRight && isAsked
        ? { access_token: tokenFor(id, scope), token_type: 'Bearer', expires_in: 600, scope }
        : { error: 'invalid_client' },
    );
    response.writeHead(isRight && isAsked ? 200 : 401, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
    });
    response.end(body);
  });
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
process.once('SIGTERM', () => process.exit(0));
