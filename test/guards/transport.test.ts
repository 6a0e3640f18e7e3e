import { type Guard, guards } from './guard.ts';

const none: readonly Guard[] = [];

guards('2a', {
  'DNS fails': none,
  refused: none,
  'TLS bad cert': none,
  'TLS wrong host': none,
  NODE_TLS_REJECT_UNAUTHORIZED: [
    {
      file: 'src/transport/transport.ts',
      find: 'requireChecks(request.url, options.env);',
      replace: '',
      test: 'test/faults/transport.test.ts',
      title: 'faults 2a: NODE_TLS_REJECT_UNAUTHORIZED',
    },
  ],
  'http:// with a key': none,
  'any 3xx': [
    {
      file: 'src/transport/reply-head.ts',
      find: 'status >= 300 && status < 400',
      replace: 'status >= 400 && status < 400',
      test: 'test/faults/transport.test.ts',
      title: 'faults 2a: any 3xx',
    },
  ],
  'proxy 407': none,
  'proxy refused': none,
  'CONNECT fails': none,
  'proxy env for loopback': none,
  'happy eyeballs': none,
  'connect hangs': none,
  'headers never come': none,
  'slow-loris body': none,
  'RST or FIN mid-body': none,
  'clean early close': none,
  'keep-alive race': none,
  'early 413': none,
  malformed: none,
  'HTTP/2': none,
  'clock skew': none,
});
