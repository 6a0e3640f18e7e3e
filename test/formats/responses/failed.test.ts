import { expect } from 'vitest';
import { test } from '../../helpers/with-server.ts';
import { created, response, textEvents } from './feeding.ts';

const failed = response([], { status: 'failed', error: { code: 'server_error', message: 'It broke' }, usage: null });

test.for([
  ['whole', ['text'], ''],
  ['as a stream', ['text', '--stream'], ''],
  ['in the middle of a stream', ['chat'], 'Hel'],
] as const)(
  'a reply that failed %s is an error of the service, though its status is 200',
  async ([how, argv, said], { server, cli }) => {
    const events = [created, ...(said === '' ? [] : textEvents([said])), { type: 'response.failed', response: failed }];
    const stream = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    const type = how === 'whole' ? 'application/json' : 'text/event-stream';
    server.reply({ headers: { 'content-type': type }, body: how === 'whole' ? JSON.stringify(failed) : stream });
    const ran = await cli([...argv, 'hi', '--format', 'responses']);
    expect(ran).toMatchObject({ code: 6, stdout: said === '' ? '' : `${said}\n` });
    expect(ran.stderr).toContain('(server_error): It broke');
  },
);
