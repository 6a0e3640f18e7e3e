import { expect, test } from 'vitest';
import { startDeadline } from '../../../src/library/client/deadline.ts';
import { sendAll } from '../../../src/cli/run/send-all.ts';
import type { ImageOutput } from '../../../src/cli/output/save-images.ts';
import { type GatewayClient, openGatewayClient } from '../../../src/library/client/gateway-client.ts';
import type { Fetch } from '../../../src/library/transport/types.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import { createMemoryStore } from '../../../src/library/images/store.ts';
import { imageReply } from '../../helpers/with-server.ts';
import { png } from '../../replies/deviation.ts';
import { replyOf } from '../../replies/reading.ts';

const good = () => replyOf([Buffer.from(JSON.stringify(imageReply({ mimeType: 'image/png', data: png })))]);

const pricing = { prices: {}, format: 'content' as const };
/** What becomes of the pictures of a reply here. */
const nothing = { images: [], files: [], mismatches: [], unsaved: { images: [], text: false } };

/** A client whose connection is this one. */
function clientOf(fetch: Fetch): GatewayClient {
  return openGatewayClient({ baseUrl: 'http://127.0.0.1:1', connection: { fetch }, retries: 0 });
}

/** Requests that end one way each; those of which a test does not speak are never made. */
async function ask(count: number, ...endings: (() => ReturnType<typeof good>)[]) {
  let sent = 0;
  let saved = 0;
  const client = clientOf(async () => (endings[sent++] as () => ReturnType<typeof good>)());
  const images: ImageOutput = {
    openStore: () => createMemoryStore(),
    async save(found) {
      saved += found.length;
      return nothing;
    },
    most: 256,
  };
  const post = { path: '/', use: 'image', format: 'content', body: {} } as const;
  const request = { post, model: 'm', candidates: 1 };
  const asked = await sendAll({
    request,
    client,
    pricing,
    deadline: startDeadline(60_000),
    images,
    count,
    concurrency: 4,
  });
  return { ...asked, sent, saved };
}

function failing(error: Error) {
  return () => {
    throw error;
  };
}

const full = new GatewayError('not-written', 'the disk is full');

test('publishes the pictures that were under way when the disk is full, and asks for no more', async () => {
  const asked = await ask(9, failing(full), good, good, good);
  expect(asked).toMatchObject({ saved: 3, sent: 4, thrown: { value: full } });
  expect(asked.outcomes).toHaveLength(9);
});

test('a bug is thrown as it was, after the other requests have ended', async () => {
  const bug = new TypeError('x is not a function');
  const asked = await ask(2, failing(bug), good);
  expect(asked.thrown?.value).toBe(bug);
  expect(asked).toMatchObject({ saved: 1, outcomes: [{ thrown: { value: bug } }, { reply: { model: 'm' } }] });
});

test('asks no more with a key that was refused', async () => {
  const asked = await ask(9, ...Array.from({ length: 4 }, () => failing(new GatewayError('auth', 'bad key'))));
  expect(asked).toMatchObject({ sent: 4, saved: 0, thrown: undefined });
});

test('several requests go on after a failure of one of them', async () => {
  const asked = await ask(6, failing(new GatewayError('gateway', 'boom')), good, good, good, good, good);
  expect(asked).toMatchObject({ sent: 6, saved: 5, thrown: undefined });
});

test('where a picture had to go elsewhere, the next is asked for when those before are saved', async () => {
  const order: string[] = [];
  const client = clientOf(async () => (order.push('sent'), good()));
  const images: ImageOutput = {
    openStore: (onSpare) => (onSpare?.(), createMemoryStore()),
    async save() {
      order.push('saved');
      return nothing;
    },
    most: 256,
  };
  const post = { path: '/', use: 'image', format: 'content', body: {} } as const;
  const request = { post, model: 'm', candidates: 1 };
  const deadline = startDeadline(60_000);
  await sendAll({ request, client, pricing, deadline, images, count: 6, concurrency: 4 });
  const pair = ['sent', 'saved'];
  expect(order).toEqual([...pair, ...pair, ...pair, ...pair, ...pair, ...pair]);
});
