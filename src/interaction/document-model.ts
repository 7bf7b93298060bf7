// What the consent page says about a client by document: who it is and where the user will be sent.
import { isIP } from 'node:net';
import { isUrlClient } from '../config/client-id-url.ts';
import { isNativeRedirect } from '../config/uri.ts';
import type { OpenInteraction } from '../oidc/open-interaction.ts';
import { isPublicAddress } from '../outgoing/special-use.ts';
import type { PageModels } from '../views/models.ts';

/** RFC 6761, 6762, 8375, and names without a dot. */
const NEARBY = /(^|\.)(localhost|local|internal|home\.arpa|lan)\.?$|^[^.]+\.?$/;
/** A very long name would move the verified host out of view. */
const MAX_NAME_LENGTH = 60;

export function toDocumentModel({
  settings: { clientId, clientName },
  redirectUri,
}: Pick<OpenInteraction, 'settings' | 'redirectUri'>): PageModels['consent']['document'] {
  if (!isUrlClient(clientId)) return undefined;
  const { host, hostname, protocol } = new URL(redirectUri);
  const isBack = host === new URL(clientId).host;
  // With a private scheme, the part in the place of the host belongs to the path.
  const isWeb = protocol === 'https:' || protocol === 'http:';
  return {
    name: clientName && shortened(clientName),
    destination: isWeb ? host : protocol.slice(0, -1),
    leads: isNativeRedirect(redirectUri) || isNearby(hostname) ? 'device' : isBack ? 'back' : 'elsewhere',
  };
}

/** Whether the host is on this device or in its network, where a certificate doesn't prove who answers. */
function isNearby(hostname: string): boolean {
  const literal = hostname.replaceAll(/[[\]]/g, '');
  return isIP(literal) === 0 ? NEARBY.test(hostname) : !isPublicAddress(literal);
}

function shortened(name: string): string {
  const characters = Array.from(name);
  return characters.length > MAX_NAME_LENGTH ? `${characters.slice(0, MAX_NAME_LENGTH).join('')}…` : name;
}
