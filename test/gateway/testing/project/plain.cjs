const { useGateway } = require('gateway-cli/testing');
const { createClient } = require('gateway-cli');
// jest has its own functions; node:test is asked for.
const test = globalThis.test ?? require('node:test').test;
const assert = require('node:assert');

const gateway = useGateway({ answers: { hello: 'Hi there' } });

test('a client gets the answer', async () => {
  assert.equal(process.env.GATEWAY_BASE_URL, gateway.url);
  const client = createClient({ baseUrl: gateway.url, apiKey: gateway.key });
  const { text } = await client.generate({ model: 'any', prompt: 'hello' });
  await client.close();
  assert.equal(text, 'Hi there');
});

if (process.env.MISS)
  test('a request that no answer matches', async () => {
    const client = createClient({ baseUrl: gateway.url, apiKey: gateway.key });
    await client.generate({ model: 'any', prompt: 'what?' }).catch(() => undefined);
    await client.close();
  });
