/** A request as it came over the wire. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly path: string;
  /** Names and values as sent, in order. */
  readonly rawHeaders: readonly (readonly [string, string])[];
  /** Lower-case names; the last of a repeated header wins. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body so far; whole once `server.received(n)` has resolved. */
  readonly body: Buffer;
  text(): string;
  json(): unknown;
  /** Resolves when the client's connection is closed. */
  readonly closed: Promise<void>;
}

interface Pending {
  readonly request: ReceivedRequest;
  readonly push: (bytes: Buffer) => void;
  missing: number;
}

interface RequestReaderOptions {
  closed: Promise<void>;
  /** The head of a request is complete. */
  onHead: (request: ReceivedRequest) => void;
  /** The body of a request is complete. */
  onEnd: (request: ReceivedRequest) => void;
}

const headEnd = '\r\n\r\n';

/** Cuts one connection's bytes into requests with a Content-Length (or none). */
export function createRequestReader({ closed, onHead, onEnd }: RequestReaderOptions): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let pending: Pending | undefined;
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (;;) {
      if (pending === undefined) {
        const end = rest.indexOf(headEnd);
        if (end < 0) return;
        pending = parseHead(rest.toString('latin1', 0, end), closed);
        rest = rest.subarray(end + headEnd.length);
        onHead(pending.request);
      }
      const part = rest.subarray(0, pending.missing);
      pending.push(part);
      pending.missing -= part.length;
      rest = rest.subarray(part.length);
      if (pending.missing > 0) return;
      const { request } = pending;
      pending = undefined;
      onEnd(request);
    }
  };
}

function parseHead(head: string, closed: Promise<void>): Pending {
  const [requestLine = '', ...lines] = head.split('\r\n');
  const [method = '', path = ''] = requestLine.split(' ');
  const rawHeaders = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  const headers = Object.fromEntries(rawHeaders.map(([name, value]) => [name.toLowerCase(), value]));
  if (headers['transfer-encoding'] !== undefined) throw new Error('the scripted server reads no chunked requests');
  const parts: Buffer[] = [];
  const request: ReceivedRequest = {
    method,
    path,
    rawHeaders,
    headers,
    closed,
    get body() {
      return Buffer.concat(parts);
    },
    text() {
      return this.body.toString();
    },
    json() {
      return JSON.parse(this.body.toString()) as unknown;
    },
  };
  return { request, push: (bytes) => void parts.push(bytes), missing: Number(headers['content-length'] ?? 0) };
}
