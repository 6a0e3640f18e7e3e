import type { Guard } from './guard.ts';

const connecting = (title: string) => ({ test: 'test/faults/connect.test.ts', title: `faults 2a: ${title}` });
const program = (title: string) => ({ test: 'test/faults/transport.test.ts', title: `faults 2a: ${title}` });
const transport = (name: string, title: string) => ({
  test: `test/transport/${name}.test.ts`,
  title: `faults 2a: ${title}`,
});

const fault = 'src/transport/fault.ts';
const tunnel = 'src/transport/tunnel.ts';
const connector = 'src/transport/connector.ts';

/** Node checks certificates unless it is told otherwise, and nobody tells it. */
const told = (option: string) => ({
  file: connector,
  find: 'timeout: connectTimeoutMs,',
  replace: `timeout: connectTimeoutMs, ${option},`,
});

/** The rows of table 2a about names, certificates and proxies. */
export const connectGuards: Record<string, readonly Guard[]> = {
  'DNS fails': [
    {
      file: fault,
      find: "if (phase === 'connecting' || isRefusedHandshake(code))",
      replace: 'if (isRefusedHandshake(code))',
      ...connecting('DNS fails'),
    },
    {
      file: fault,
      find: 'const what = `cannot connect to ${host}: ${described(error, code)}`;',
      replace: 'const what = `cannot connect: ${described(error, code)}`;',
      ...connecting('DNS fails'),
    },
  ],
  refused: [
    {
      file: fault,
      find: "if (phase === 'connecting' || isRefusedHandshake(code))",
      replace: 'if (isRefusedHandshake(code))',
      ...connecting('refused: '),
    },
    {
      file: 'src/errors.ts',
      find: 'if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map',
      replace: 'if (false) return error.errors.map',
      ...connecting('refused on every address'),
    },
  ],
  'TLS bad cert': [
    { ...told('rejectUnauthorized: false'), ...program('TLS bad cert') },
    {
      file: fault,
      find: 'if (isTrustCode(code))',
      replace: 'if (false)',
      ...program('TLS bad cert'),
    },
    {
      file: fault,
      find: 'message.includes(code) ? message : `${message} (${code})`',
      replace: 'message.includes(code) ? message : message',
      ...program('TLS bad cert'),
    },
    {
      file: tunnel,
      find: 'const isDistrusted = isTrustCode(code);',
      replace: 'const isDistrusted = false;',
      ...connecting('TLS bad cert: a proxy'),
    },
  ],
  'TLS wrong host': [
    { ...told('checkServerIdentity: () => undefined'), ...program('TLS wrong host') },
    { file: fault, find: "'ERR_TLS_',", replace: '', ...program('TLS wrong host') },
  ],
  NODE_TLS_REJECT_UNAUTHORIZED: [
    {
      file: 'src/transport/transport.ts',
      find: 'requireChecks(request.url, options.env);',
      replace: '',
      ...connecting('NODE_TLS_REJECT_UNAUTHORIZED'),
    },
    {
      file: 'src/transport/transport.ts',
      find: ' || isLoopback(url)) return;',
      replace: ') return;',
      ...transport('faults-connect', 'NODE_TLS_REJECT_UNAUTHORIZED'),
    },
    {
      file: tunnel,
      find: 'rejectUnauthorized: true,',
      replace: '',
      ...connecting('NODE_TLS_REJECT_UNAUTHORIZED=0: a proxy'),
    },
  ],
  'http:// with a key': [
    {
      file: 'src/client/target.ts',
      find: 'requireSafeUrl(target.baseUrl, {',
      replace: 'void ({',
      ...connecting('http:// with a key'),
    },
  ],
  'any 3xx': [
    {
      file: 'src/transport/reply-head.ts',
      find: 'status >= 300 && status < 400',
      replace: 'status >= 400 && status < 400',
      ...program('any 3xx'),
    },
    {
      file: 'src/transport/reply-head.ts',
      find: '` to ${target.origin}`',
      replace: '` to ${target.href}`',
      ...program('any 3xx'),
    },
  ],
  'proxy 407': [
    {
      file: tunnel,
      find: 'if (statusCode >= 200 && statusCode < 300)',
      replace: 'if (statusCode > 0)',
      ...connecting('proxy 407'),
    },
    {
      file: tunnel,
      find: '`the proxy ${proxy.host} ${what}`',
      replace: '`the proxy ${proxy.href} ${what}`',
      ...connecting('proxy 407'),
    },
  ],
  'proxy refused': [
    {
      file: tunnel,
      find: 'reject(unreachable(proxy, error))',
      replace: 'reject(error)',
      ...connecting('proxy refused'),
    },
    {
      file: tunnel,
      find: '`the proxy ${proxy.host} does not work',
      replace: '`the proxy ${proxy.href} does not work',
      ...connecting('proxy refused'),
    },
  ],
  'CONNECT fails': [
    { file: tunnel, find: 'retryable: status >= 500,', replace: 'retryable: false,', ...connecting('CONNECT fails') },
    { file: tunnel, find: 'retryable: status >= 500,', replace: 'retryable: true,', ...connecting('proxy 407') },
    {
      file: 'src/transport/exchange.ts',
      find: 'const error = this.#options.signal.aborted ?',
      replace: 'const error = false ?',
      ...transport('proxy', 'CONNECT fails: an abort'),
    },
  ],
  'proxy env for loopback': [
    {
      file: 'src/transport/proxy.ts',
      find: 'isLoopback(target) || ',
      replace: '',
      ...connecting('proxy env for loopback'),
    },
    {
      file: 'src/transport/proxy.ts',
      find: 'if (url === undefined || !isDecodable(url))',
      replace: 'if (url === undefined)',
      ...transport('proxy', 'malformed proxy URL'),
    },
  ],
  'happy eyeballs': [
    {
      file: connector,
      find: 'autoSelectFamily: true,',
      replace: '',
      ...connecting('happy eyeballs'),
    },
    {
      file: connector,
      find: 'autoSelectFamilyAttemptTimeout: 2000,',
      replace: '',
      ...transport('two-addresses', 'happy eyeballs'),
    },
    {
      file: tunnel,
      find: 'autoSelectFamilyAttemptTimeout: 2000,',
      replace: '',
      ...transport('two-addresses', 'happy eyeballs'),
    },
  ],
};
