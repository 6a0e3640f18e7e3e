import { generateKeyPairSync, sign } from 'node:crypto';

/** A certificate that vouches for itself, and its key, both as PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

/** Makes a certificate for these hosts; who trusts it trusts it as its own authority. */
export function createCertificate(hosts: readonly string[]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = der(0x30, der(0x31, der(0x30, oid('550403'), der(0x0c, Buffer.from('gateway-cli test')))));
  const algorithm = der(0x30, oid('2a8648ce3d040302'));
  const names = der(0x30, ...hosts.map((host) => der(0x82, Buffer.from(host))));
  const contents = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    der(0x30, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z'))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, der(0x30, oid('551d11'), der(0x04, names)))),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', contents, privateKey)]);
  const whole = der(0x30, contents, algorithm, der(0x03, signature));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

/** One element: tag, length, contents. */
function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const body = Buffer.concat(contents);
  const long = body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...(body.length < 0x80 ? [body.length] : long)]), body]);
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}
